"""The ways on from an exercise, and its place among the reviews of the day."""

from dataclasses import replace

from app.site import Site
from app.site.web.exercise.page_context import ExerciseRequest
from app.site.web.exercise.view import ExercisePage
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.next_steps import next_steps, review_place


def with_ways_on(site: Site, asked: ExerciseRequest, page: ExercisePage) -> ExercisePage:
    """*page* with its place among the reviews of the day, and with the ways on once it is over."""
    exercise, day = asked.exercise, site.clock().date()
    topic = site.catalog.topic_of(exercise)
    past = read_learner_history(site, asked.learner, asked.route).within(topic.id)
    if asked.reviewing:
        page = replace(page, review=review_place(site.catalog, past, exercise.id, day))
    if not page.is_over:
        return page
    steps = next_steps(
        site.catalog, past, topic.id, day, current=exercise.id, seed=asked.seed, reviewing=asked.reviewing
    )
    return replace(page, onward=steps)
