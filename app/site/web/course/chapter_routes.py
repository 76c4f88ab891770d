"""The page of a chapter: its subject, its numbered path, and what one can compute at its end."""

from fastapi import Request, Response

from app.course.content.catalog import Topic
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.course.chapter_view import ChapterWork, chapter_page
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.resource import LearningResource
from app.site.web.frame.visitor import Visiting
from app.site.web.standing.chapter_choice import choice_form, chosen_here, seed_here
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.records import open_records
from app.site.web.standing.route_choice import chosen_route
from app.site.web.standing.view import is_solved
from app.site.web.urls import chapter_url, exercise_url

router = Router(prefix="/chapters")


@router.get("/{name}")
async def chapter(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """One chapter."""
    topic, learner = site.catalog.topic(name), visiting.learner
    if response := chosen_here(topic, request):
        return response
    past = read_learner_history(site, learner, chosen_route(request))
    is_finished = all(is_solved(one, past.known) for one in topic.path)
    work = read_work(site, topic, learner) if is_finished or topic.parameters else ChapterWork()
    seed = seed_here(topic, request) or (work.last_seed if topic.parameters else 0)
    choice = choice_form(topic, request, seed)
    today = site.clock().date()
    page = chapter_page(site.catalog, topic, past, work, today, choice=choice, seed=seed, typed=request.query_params)
    resource = LearningResource(
        sort="chapter",
        name=topic.title,
        says=topic.summary,
        path=chapter_url(topic.id),
        parts=tuple((exercise_url(one.id), one.title) for one in topic.exercises),
    )
    around = frame(request, topic.title, topic.summary, "exercises", resource=resource)
    return render("course/chapter.html", around, page, 422 if choice and choice.faults else 200)


def read_work(site: Site, topic: Topic, learner: str) -> ChapterWork:
    """What *learner* has done in *topic*."""
    if not learner:
        return ChapterWork()
    with open_records(site, learner) as records:
        right = records.last_right_answers([one.id for one in topic.exercises])
        return ChapterWork(right, records.efforts())
