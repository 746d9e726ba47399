"""Defects of the semantics, put back one at a time: the worlds of CI must show each of them."""

import dataclasses
import importlib
import itertools

import numpy as np
import pytest
from checking import CI_WORLDS, DifferenceError, check_seed

import fairprobe
from fairprobe import oracle
from fairprobe.domain import allowed, derived, expressions, families, links
from fairprobe.domain.derived import Held
from fairprobe.domain.families import Families, Members, RowMembers
from fairprobe.domain.links import NONE
from fairprobe.estimation import Share, counts, populations
from fairprobe.estimation.bounds import intervals
from fairprobe.estimation.exact import plan
from fairprobe.estimation.populations import Population
from fairprobe.estimation.survey import Survey
from fairprobe.model import known
from fairprobe.oracle import Oracle
from fairprobe.searching import start_rows
from fairprobe.store import distinct

compare, verdict = (importlib.import_module(f"fairprobe.estimation.{name}") for name in ("compare", "verdict"))
"""The modules: the package has functions of these names."""

MUTATIONS = {}


def mutation(seed):
    """Note a defect by its name, and a world that shows it: that one is looked at first, to save time."""

    def note(function):
        MUTATIONS[function.__name__] = (function, seed)
        return function

    return note


@mutation(seed=0)
def rows_are_compared_with_twins_that_are_forbidden(patch):
    def present(self):
        return np.logical_or.reduce([families.compared(self.members, self.own, changed) for changed in self._changed])

    patch.setattr(RowMembers, "present", property(present))


@mutation(seed=0)
def twins_that_are_forbidden_are_compared_in_the_valid_part(patch):
    """Which inputs are of the population is still told by the constraints."""
    judged, as_each_member = populations.judged, Population.as_each_member
    asked = []

    def ask_all(self, inputs, sets, **how):
        if not isinstance(inputs, np.ndarray):
            return judged(self, inputs, sets, **how)
        asked.append(inputs)
        free = Oracle(self.asker, self.threshold)
        free.families = self.families._domain.without_constraints().families
        return judged(free, inputs, **how)

    def as_each_allowed(self, batch):
        for place, each in enumerate(as_each_member(self, batch)):
            codes = self.oracle.families.member(asked[-1], np.full(len(asked[-1]), place))
            yield dataclasses.replace(each, counted=self.domain.allows(codes))

    patch.setattr(populations, "judged", ask_all)
    patch.setattr(Population, "as_each_member", as_each_allowed)


@mutation(seed=0)
def inputs_that_are_not_comparable_count_in_n(patch):
    patch.setattr(counts, "comparable", lambda present, n, kinds=None: np.ones(n, dtype=bool))


@mutation(seed=0)
def a_verdict_passes_however_few_are_comparable(patch):
    outcome = verdict.held_against
    patch.setattr(verdict, "held_against", lambda share, limit, _: outcome(share, limit, 0.0))


@mutation(seed=31)
def rows_left_out_do_not_count_against_a_pass(patch):
    patch.setattr(Share, "comparable", property(lambda share: share.n / max(1, share.n + share.n_not_comparable)))


@mutation(seed=111)
def that_a_parameter_is_unused_is_said_by_one_share_alone(patch):
    of_all = fairprobe.verdict

    def of_one(shares, max_share, gate=None):
        return of_all(of_all(shares, max_share, gate=gate).share, max_share)

    patch.setattr(fairprobe, "verdict", of_one)


@mutation(seed=7)
def a_row_with_an_unlisted_value_is_compared_with_itself(patch):
    def needed(self):
        levels = [[*range(self._domain[name].levels), NONE] for name in self._domain.sensitive]
        more = [member for member in itertools.product(*levels) if NONE in member]
        return np.concatenate([self._domain.combinations, np.array(more, dtype=np.int64)])

    def with_itself(members, own, changed):
        held = [place for place, changes in enumerate(changed) if not changes]
        same = np.asarray(members[:, None] == own[None])
        listed = np.asarray((members[:, changed] >= 0).all(axis=1))[:, None]
        return same[:, :, held].all(axis=2) & (listed | same.all(axis=2))

    patch.setattr(RowMembers, "_needed", needed)
    patch.setattr(families, "compared", with_itself)
    patch.setattr(counts, "compared", with_itself)


@mutation(seed=144)
def a_missing_value_is_compared_though_it_is_not_listed(patch):
    restricted = derived._restricted

    def keep(parameter, is_sensitive, values):
        return parameter if values is None else restricted(parameter, is_sensitive, values)

    patch.setattr(derived, "_restricted", keep)


@mutation(seed=3)
def all_values_are_compared_though_some_are_listed(patch):
    restricted = derived._restricted
    patch.setattr(derived, "_restricted", lambda parameter, is_sensitive, _: restricted(parameter, is_sensitive, None))


@mutation(seed=52)
def a_search_drops_rows_with_unlisted_values(patch):
    patch.setattr(start_rows, "as_compared", lambda domain, frame, own: frame)


@mutation(seed=0)
def rows_left_out_are_not_said(patch):
    known_rows = populations.known_rows
    patch.setattr(populations, "known_rows", lambda given: (known_rows(given)[0],) * 2)


@mutation(seed=115)
def real_rows_are_moved_to_the_grid(patch):
    known_rows = populations.known_rows

    def moved(given):
        rows, n_left_out = known_rows(given)
        domain = given.domain
        codes = domain.encode(rows, nearest=True)
        inside = (codes >= 0).all(axis=1)
        if inside.any():
            on_grid = domain.decode(codes[inside])
            for name in domain.names:
                values = rows[name].astype(object)
                values[inside] = on_grid[name].astype(object).to_numpy()
                rows[name] = values
        return rows, n_left_out

    patch.setattr(populations, "known_rows", moved)


@mutation(seed=9)
def a_comparison_with_a_missing_value_is_true(patch):
    compared = expressions._compared

    def with_missing(symbol, left, right):
        answer = compared(symbol, left, right)
        for side in (left, right):
            if isinstance(side, np.ndarray):
                answer = answer | expressions._absent(side)
        return answer

    patch.setattr(expressions, "_compared", with_missing)


@mutation(seed=1)
def a_table_of_states_takes_two_values_for_one(patch):
    ways = allowed._ways

    def coarse(variable, state):
        group, targets = ways(variable, state)
        return np.minimum(group, len(targets) - 2) if len(targets) > 2 else group, targets

    patch.setattr(allowed, "_ways", coarse)


@mutation(seed=199)
def links_forbid_nothing(patch):
    patch.setattr(links._RoleTable, "rules", lambda self: iter(()))


@mutation(seed=4)
def a_shift_past_a_bound_is_clipped(patch):
    played = links._Shift.played

    def clipped(self, roles, sensitive):
        codes = roles[None] - self._highest + self._shift[sensitive][:, None]
        return np.where(played(self, roles, sensitive) < 0, codes.clip(0, self._n_values - 1), codes)

    patch.setattr(links._Shift, "played", clipped)


@mutation(seed=10)
def rows_keep_what_is_linked(patch):
    def keep(in_rows):
        def kept(self, column, sensitive):
            roles = in_rows(self, column, sensitive)
            return roles._replace(played=np.where(roles.played < 0, NONE, column.codes))

        return kept

    for kind in (links._RoleTable, links._Shift):
        patch.setattr(kind, "in_rows", keep(kind.in_rows))


@mutation(seed=132)
def members_that_are_the_same_row_to_the_model_are_compared(patch):
    for kind in (Members, RowMembers):
        patch.setattr(kind, "kinds", None)


@mutation(seed=22)
def what_is_derived_does_not_follow_its_source_in_rows(patch):
    def own(self, name, source, members):
        parameter, codes = self._column(name)
        return Held(parameter, np.broadcast_to(codes, members.codes.shape))

    patch.setattr(RowMembers, "_derived", own)


@mutation(seed=91)
def a_subclass_is_taken_for_its_base(patch):
    path = known._path
    patch.setattr(known, "_path", lambda cls: next(filter(None, map(path, cls.__mro__)), None))
    patch.setattr(known, "_is_class_altered", lambda cls: False)


@mutation(seed=94)
def a_family_that_is_solved_counts_once(patch):
    weight = plan.TreePlan.weight.fget
    patch.setattr(plan.TreePlan, "weight", property(lambda self: weight(self) // len(self.domain.families)))


@mutation(seed=25)
def plain_twins_take_the_answers_of_linked_ones(patch):
    patch.setattr(RowMembers, "are_plain", property(lambda self: np.ones(self.present.shape, dtype=bool)))


@mutation(seed=1)
def a_gap_of_just_the_threshold_is_a_hit(patch):
    exceed = Oracle._exceed
    patch.setattr(Oracle, "_exceed", lambda it, gaps: gaps >= it.threshold if it.threshold else exceed(it, gaps))


@mutation(seed=106)
def only_the_last_class_counts(patch):
    spans = oracle._spans
    patch.setattr(oracle, "_spans", lambda outputs, present: spans(outputs, present)[:, -1:])


@mutation(seed=0)
def a_row_that_a_constraint_forbids_is_no_member_of_its_family(patch):
    def present(self):
        wanted = np.logical_or.reduce([families.compared(self.members, self.own, changed) for changed in self._changed])
        if self._domain.constraints and wanted.any():
            wanted[wanted] = self.allowed_by(self._domain.restrictions, wanted)
        return wanted

    patch.setattr(RowMembers, "present", property(present))


@mutation(seed=127)
def what_is_held_is_changed_too(patch):
    def hold_nothing(members, own, changed):
        listed = np.asarray((members[:, changed] >= 0).all(axis=1))
        return np.repeat(listed[:, None], len(own), axis=1)

    patch.setattr(counts, "compared", hold_nothing)


@mutation(seed=0)
def the_domain_is_its_valid_part(patch):
    patch.setattr(fairprobe.Domain, "without_constraints", lambda self: self)


@mutation(seed=0)
def a_family_counts_once(patch):
    each = Population.as_each_member
    patch.setattr(Population, "as_each_member", lambda self, batch: itertools.islice(each(self, batch), 1))


@mutation(seed=0)
def one_sided_bounds_have_half_the_error(patch):
    patch.setattr(intervals, "lower_bound", lambda hits, n, c: intervals.clopper_pearson(hits, n, c)[0])
    patch.setattr(intervals, "upper_bound", lambda hits, n, c: intervals.clopper_pearson(hits, n, c)[1])


@mutation(seed=0)
def rows_are_said_to_be_known_exactly(patch):
    shares = Survey.shares

    def exact(self, method=None, bounds=None, remarks=()):
        if self.population.rows is None:
            return shares(self, method, bounds, remarks)
        return shares(self, "exact")

    patch.setattr(Survey, "shares", exact)


@mutation(seed=144)
def two_models_are_judged_on_different_inputs(patch):
    families, turns = Population.families, itertools.count()

    def of_own(self, n, seed):
        return families(self, n, seed + next(turns) % 2 if self.name == "domain" else seed)

    patch.setattr(Population, "families", of_own)


@mutation(seed=195)
def the_difference_has_the_wrong_sign(patch):
    paired = compare.paired
    patch.setattr(compare, "paired", lambda a, b, hits_a, hits_b, c: paired(a, b, hits_b, hits_a, c))


@mutation(seed=111)
def cases_are_distinct_as_inputs_not_as_families(patch):
    patch.setattr(distinct.Distinct, "add", lambda self, words: _all_new(self, words))


def _all_new(self, words):
    self._recent = np.concatenate([self._recent, words])
    return np.ones(len(words), dtype=bool)


@mutation(seed=24)
def the_twin_is_any_that_differs(patch):
    def ends(outputs, own, present):
        case, _ = extremes(outputs, own, present)
        other = outputs != outputs[case, np.arange(len(case))]
        return case, (other if present is None else other & present).argmax(axis=0)

    extremes = oracle._extremes
    patch.setattr(oracle, "_extremes", ends)


@mutation(seed=0)
def constraints_are_forgotten(patch):
    patch.setattr(Families, "is_complete", True)


def differs(seed):
    try:
        check_seed(seed)
    except DifferenceError:
        return True
    return False


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_worlds_of_ci_show_it(name, monkeypatch):
    put_back, likely = MUTATIONS[name]
    put_back(monkeypatch)
    assert any(map(differs, (likely, *range(CI_WORLDS))))
    assert likely < CI_WORLDS
