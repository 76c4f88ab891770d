"""The names under which answers of programs are stored: no two programs share one."""

from itertools import product

from app.server.db.tables import LEARNER_LIMIT
from app.site.api.headers import grader_named, labeled_learner


def test_no_token_and_label_have_the_name_of_another() -> None:
    tokens = ["a", "a/b", "a/b/c", "a%2Fb", "a#b", "a" * 14, "a" * 58, "a" * 59, "a" * 60, "/", "%"]
    labels = ["b", "b/c", "c", "/", "#", "b" * 255, "b" * 254, "\0", "a/b", "\udc80"]
    found = [grader_named(one) for one in tokens]
    found += [labeled_learner(one, label) for one, label in product(tokens, labels)]
    digest = labeled_learner("a", "b" * 255).rpartition("#")[2]
    found += [labeled_learner("a", digest), labeled_learner("a", f"#{digest}"), grader_named(f"a#{digest}")]
    assert len(found) == len(set(found))
    assert max(map(len, found)) == LEARNER_LIMIT
    assert all("\0" not in one for one in found)
