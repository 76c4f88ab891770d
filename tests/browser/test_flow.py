"""What one sees first, the menu of a phone, and the ways on."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from app.classes.people.assignments import AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Role, create_class, enroll, join_code_of, number_of
from app.classes.people.persons import new_person, open_browser
from app.classes.people.policy import Policy
from app.server.db.learner_cookie import signing_secret
from app.server.db.session import connect, open_writing_session
from app.server.db.tables import now
from tests.browser.accessible import assert_accessible, assert_fits
from tests.browser.conftest import MakePage, Server
from tests.browser.test_solving import NUMERIC, to

pytestmark = pytest.mark.slow(30)

MENU = ("/", "/explore", "/labs", "/progress", "/reference")


def bottom(page: Page, selector: str) -> float:
    """Where the last of what *selector* finds ends, from the top of the page."""
    return float(page.locator(selector).last.evaluate("e => e.getBoundingClientRect().bottom"))


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_home_says_what_it_is_in_one_screen_and_all_of_it_in_two(open_page: MakePage, width: int, height: int) -> None:
    page = open_page("/", width=width)
    page.set_viewport_size({"width": width, "height": height})
    assert bottom(page, ".lead") < bottom(page, ".onward") <= height
    assert bottom(page, ".canvas") <= height
    assert bottom(page, "main") <= 2 * height


@pytest.mark.parametrize("script", [True, False])
def test_the_menu_of_a_phone_reaches_everything(open_page: MakePage, *, script: bool) -> None:
    page = open_page(NUMERIC, "dark", 390, script=script)
    menu = page.get_by_role("navigation", name="Site")
    expect(menu).to_be_hidden()
    to(page, ".opener") if script else page.locator(".opener").focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    for path in MENU:
        expect(menu.locator(f'a[href="{path}"]')).to_be_in_viewport()
    if script:
        assert_accessible(page)
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/labs")


def test_a_wide_screen_has_the_menu_in_a_row(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    expect(page.locator(".opener")).to_be_hidden()
    menu = page.get_by_role("navigation", name="Site")
    expect(menu.get_by_role("link", name="Reference")).to_be_visible()


def test_the_path_beside_the_exercise_learns_of_the_verdict(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    mark = page.locator("#path [aria-current] .mark")
    expect(mark).to_have_class("mark new")
    page.fill("#box-1", "70")
    page.keyboard.press("Enter")
    expect(mark).to_have_class("mark unaided")
    page.get_by_role("link", name="Continue: Bytes sent in a ring all-reduce").click()
    page.wait_for_url("**/bytes-sent-by-a-ring")


def test_the_search_works_by_keyboard_alone(open_page: MakePage) -> None:
    page = open_page("/formulas")
    page.keyboard.press("/")
    page.keyboard.type("bubble fraction")
    hits = page.locator(".found li a")
    expect(hits.first).to_have_text(re.compile("^bubble_fraction"))
    assert_accessible(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(hits.nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".found")).to_be_hidden()
    expect(page.get_by_role("searchbox", name="Search the site")).to_be_focused()
    page.keyboard.type("s")
    expect(hits.first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/formulas/pipeline.bubble_fraction")


def test_enter_opens_the_page_of_all_hits(open_page: MakePage) -> None:
    page = open_page("/")
    page.keyboard.press("/")
    page.keyboard.type("bubble")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=bubble")
    expect(page.locator("ol.hits li")).not_to_have_count(0)
    expect(page.locator(".found")).to_be_hidden()


def test_a_slash_in_an_answer_stays_there(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    page.fill("#box-1", "1")
    page.focus("#box-1")
    page.keyboard.press("End")
    page.keyboard.type("/16")
    expect(page.locator("#box-1")).to_have_value("1/16")


def test_a_phone_has_a_link_to_the_search(open_page: MakePage) -> None:
    page = open_page(NUMERIC, width=390)
    page.get_by_role("link", name="Search", exact=True).first.click()
    page.wait_for_url("**/search")
    page.keyboard.type("zero stage")
    expect(page.locator(".found li").first).to_be_visible()
    assert_fits(page, 390)


def test_the_scratch_pad_calculates_and_stays_with_its_exercise(open_page: MakePage) -> None:
    page = open_page(NUMERIC)
    pad = page.get_by_label("Scratch pad")
    pad.fill("V = 2*(8-1)/8 * 2 GB\nV / (50 GB/s)")
    expect(page.locator(".worked li").nth(1)).to_contain_text("= 70 ms")
    assert_accessible(page)
    page.reload()
    expect(pad).to_have_value("V = 2*(8-1)/8 * 2 GB\nV / (50 GB/s)")
    expect(page.locator(".worked li").nth(1)).to_contain_text("= 70 ms")
    page.goto("/exercises/memory/stage-1")
    expect(pad).to_have_value("")
    assert page.evaluate("Object.keys(localStorage)") == ["pad collectives/ring-all-reduce-time"]


def test_the_pad_is_below_the_exercise_and_folded_on_a_phone(open_page: MakePage) -> None:
    page = open_page(NUMERIC, width=390)
    expect(page.get_by_label("Scratch pad")).to_be_hidden()
    page.get_by_text("Scratch pad").click()
    expect(page.get_by_label("Scratch pad")).to_be_visible()
    assert bottom(page, ".exercise") < bottom(page, ".pad")
    assert_fits(page, 390)


def test_the_path_and_the_pad_fill_the_third_beside_the_exercise(open_page: MakePage) -> None:
    for path in (NUMERIC, "/exercises/hardware/order-of-bandwidth"):
        page = open_page(path)
        page.set_viewport_size({"width": 1280, "height": 800})
        assert page.locator(".aside").evaluate("e => e.getBoundingClientRect().left") > 800
        expect(page.get_by_label("Scratch pad")).to_be_visible()
        assert bottom(page, ".pad textarea") < 800


@pytest.fixture
def join_link(server: Server) -> str:
    """The path of the link of a class with an assignment: three tries, hints off."""
    engine = connect(f"sqlite:///{server.database}")
    secret = signing_secret(engine)
    with open_writing_session(engine) as session:
        row = create_class(session, secret, "Distributed training", "Europe/Berlin")
        policy = Policy(due=now() + timedelta(days=3), attempts=3, hints="off")
        entries = [AssignmentEntry(NUMERIC.removeprefix("/exercises/"), 2.0)]
        create_assignment(session, number_of(row), "Week 1", policy, entries)
        session.commit()
        code = join_code_of(secret, row)
    engine.dispose()
    return f"/join/{code}"


def test_a_teacher_puts_exercises_in_order_with_keys(open_page: MakePage, server: Server) -> None:
    engine = connect(f"sqlite:///{server.database}")
    secret, names = signing_secret(engine), [f"memory/stage-{n}" for n in (1, 2, 3)]
    with open_writing_session(engine) as session:
        class_id = number_of(create_class(session, secret, "Distributed training"))
        ada = number_of(new_person(session, "Ada"))
        enroll(session, class_id, ada, Role.TEACHER)
        entries = [AssignmentEntry(name, 1.0) for name in names]
        number = create_assignment(session, class_id, "Week 1", Policy(), entries)
        cookie = open_browser(session, ada)
        session.commit()
    page = open_page("/")
    page.context.add_cookies([{"name": "session", "value": cookie, "url": page.url}])
    page.goto(f"/assignments/{number}/edit")
    items = page.locator("[data-order] > li")
    items.nth(2).get_by_role("button", name="Move up").press("ArrowUp")
    expect(page.locator("[data-order] + [data-live]")).to_have_text("Now in place 2")
    second = page.locator("[type=checkbox][value='memory/stage-2']")
    second.uncheck()
    expect(items).to_have_count(2)
    second.check()  # it comes back as the last one
    page.get_by_role("button", name="Move down: ZeRO stage 1").press("Enter")
    assert_accessible(page)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**/classes/{class_id}")
    with open_writing_session(engine) as session:
        found = [one.exercise for one in assignment_with(session, number).entries]
    assert found == [names[2], names[0], names[1]]
    engine.dispose()


def test_a_student_joins_by_a_link_and_answers_what_is_due(open_page: MakePage, join_link: str) -> None:
    page = open_page(join_link)
    page.fill("#name", "Katherine Johnson")
    assert_accessible(page)
    page.click("main .button.primary")
    code = page.inner_text(".seat-code")
    assert_accessible(page)
    page.click("text=I have written it down")
    expect(page.locator(".due")).to_contain_text("0 of 1 tried")
    page.click("text=Week 1")
    assert_accessible(page)
    page.click(".due a")
    expect(page.locator("#strip")).to_contain_text("3 of 3 tries left")
    page.fill(".answer input[name^=answer]", "1 s")
    page.click("button[value=check]")
    expect(page.locator("#strip")).to_contain_text("2 of 3 tries left")  # without a new page
    expect(page.locator("button[value=hint], button[value=solution]")).to_have_count(0)
    assert_accessible(page)
    assert_fits(page, 1280)
    address = page.url
    other = open_page("/sign-in", "dark", 390)
    other.fill("#code", code.lower())
    other.keyboard.press("Enter")
    expect(other.locator(".due")).to_contain_text("1 of 1 tried")
    assert_fits(other, 390)
    other.click("text=Week 1")
    other.click(".due a")
    assert other.url == address
    other.goto("/me")
    other.click("text=Sign out everywhere")
    other.wait_for_url("**/sign-in")  # so that it is done
    page.wait_for_timeout(1_100)  # as long as a session is known without a look
    page.reload()
    expect(page.locator("#strip")).to_have_count(0)


def test_a_placement_leads_to_the_chapters_that_one_knows(open_page: MakePage) -> None:
    page = open_page("/progress")
    page.get_by_role("link", name="placement").click()
    page.get_by_role("link", name="Begin").click()
    for box in page.locator("[data-answer] input[name^=answer]").all():
        box.fill("1")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Continue: the next question").click()
    while re.search(r"/placement/\d+/\d+$", page.url):
        page.get_by_role("button", name="skip").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your placement")
    page.get_by_label("Serving").check()
    assert_accessible(page)
    page.get_by_role("button", name="Mark these as known").click()
    page.get_by_text("Choose chapters").click()
    expect(page.get_by_label("Serving")).to_be_checked()
