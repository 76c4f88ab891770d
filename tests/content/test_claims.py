"""What solutions, hints and feedback say of drawn numbers is proven in every drawing."""

from app.authoring.chapter_proofs import prove_claims, unproven
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from tests.each import each

CHAPTERS = {topic.id: topic for topic in Catalog.read([ROOT / "exercises"]).topics}


@each("chapter", sorted(CHAPTERS))
def test_every_comparison_beside_drawn_numbers_is_proven(chapter: str) -> None:
    noted = [
        f"{exercise.id} {where}: {says}"
        for exercise in CHAPTERS[chapter].exercises
        for where, says in unproven(exercise)
    ]
    assert noted == []


@each("chapter", sorted(CHAPTERS))
def test_every_claim_holds_in_every_drawing(chapter: str) -> None:
    refuted = [
        f"{exercise.id}: {finding.says}"
        for exercise in CHAPTERS[chapter].exercises
        if exercise.claims
        for finding in prove_claims(exercise)
    ]
    assert refuted == []
