"""How other systems call the columns of a file about people, in their languages."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

_IN_BRACKETS = re.compile(r"(?:(?<!\s)\s++)?+[(\[][^()\[\]\d]*+[)\]]$")  # "Name (Last, First)"


def plain_head(cell: str) -> str:
    """The title of a column without what differs between files.

    >>> plain_head(" Matr.-Nr. "), plain_head("SIS  User ID")
    ('matr.-nr', 'sis user id')
    """
    return " ".join(unicodedata.normalize("NFC", cell).casefold().split()).rstrip(".:*")


def title_key(cell: str) -> str:
    """The letters and digits of a title: the same for First_Name, FirstName and first name.

    >>> title_key("Matr.-Nr."), title_key("Student #"), title_key("N° étudiant")
    ('matrnr', 'studentnumber', 'nétudiant')
    """
    text = unicodedata.normalize("NFKC", cell.replace("#", " number ")).casefold()
    return re.sub(r"[\W_]+", "", text)


def title_keys(cell: str) -> tuple[str, str]:
    """The keys of a title: the whole of it, and without what is in brackets at its end."""
    return title_key(cell), title_key(_IN_BRACKETS.sub("", cell.strip()))


def _keys(titles: Iterable[str]) -> Sequence[str]:
    return tuple(dict.fromkeys(title_key(one) for one in titles))


NAME = _keys((
    "name", "full name", "student", "student name", "name of student", "learner", "participant",
    "names", "students", "student names", "participants", "studierende", "namen",
    "display name", "vollständiger name", "name, vorname", "teilnehmer", "nom complet",
    "nom et prénom", "nombre completo", "apellidos y nombre", "nome completo", "volledige naam",
    "naam", "navn", "namn", "nimi", "imię i nazwisko", "фио", "полное имя", "姓名", "学生",
    "学生姓名", "氏名", "名前", "이름", "성명",
))  # fmt: skip
BARE_NAME = _keys(("name", "naam", "navn", "namn", "nombre", "nome"))
FIRST = _keys((
    "first name", "first", "given name", "given names", "forename", "preferred name",
    "legal first name", "vorname", "prénom", "nombre", "nombres", "nome", "voornaam", "fornavn",
    "förnamn", "etunimi", "imię", "jméno", "utónév", "adı", "ad", "имя", "όνομα", "名", "名字",
))  # fmt: skip
LAST = _keys((
    "last name", "last", "surname", "family name", "legal last name", "nachname", "familienname",
    "nom", "nom de famille", "apellido(s)", "apellido", "apellidos", "cognome", "sobrenome",
    "apelido", "apelidos", "achternaam", "efternavn", "etternavn", "efternamn", "sukunimi",
    "nazwisko", "příjmení", "vezetéknév", "soyadı", "soyad", "фамилия", "επώνυμο", "姓",
    "姓氏", "성",
))  # fmt: skip
# Of several, the first that is filled holds: in Canvas's files, ID is a number of Canvas.
ID = _keys((
    "sis user id", "org defined id", "id number", "student id", "student id number", "student no",
    "student number", "student num", "university id", "campus id", "banner id", "unique user id",
    "user unique id", "unique id", "school uid", "sid", "integration id", "external id",
    "outside id",
    "matriculation number", "matrikelnummer", "matrikelnr", "matrikel", "matrikel-nr", "matr.-nr",
    "matr.", "mtknr", "mtk-nr", "martikelnummer", "id-nummer", "numéro d'identification",
    "numéro étudiant", "numéro d'étudiant", "n° étudiant", "no étudiant", "matricule",
    "número de id", "número de identificación", "número de estudiante", "matrícula", "código",
    "número de identificação", "número mecanográfico", "matricola", "numero id",
    "numero identificativo", "studentnummer", "studienummer", "opiskelijanumero", "tunnistenumero",
    "nr albumu", "numer albumu", "numer id", "id číslo", "öğrenci no", "индивидуальный номер",
    "номер студента", "学号", "學號", "学生编号", "学籍番号", "学生番号", "학번", "id", "user id",
    "sis login id", "username", "user name", "login", "login id", "login name", "net id",
    "anmeldename", "benutzername", "nom d'utilisateur", "nombre de usuario", "gebruikersnaam",
    "用户名",
))  # fmt: skip
GROUP = _keys((
    "group", "section", "groups", "sections", "section name", "group name", "cohort",
    "cohort name", "gruppe", "gruppen", "übungsgruppe", "sektion", "groupe", "groupes", "grupo",
    "grupos", "sección", "gruppo", "gruppi", "groep", "groepen", "grupa", "группа", "组", "小组",
    "班级", "班", "グループ", "クラス",
))  # fmt: skip
ROLE = _keys(("role", "roles", "rolle", "rollen", "rôle", "rol", "ruolo", "papel", "角色"))
NUMBER = ("number",)
OTHERS = _keys((
    "institution", "department", "total", "course total", "overall %",
    "last downloaded from this course", "root account",
))  # fmt: skip
# The columns by which a file of Open edX is known: its ID is a number of its own.
OPEN_EDX = _keys((
    "enrollment track", "certificate eligible", "enrollment mode", "verification status",
    "year_of_birth",
))  # fmt: skip
# What Moodle writes for those who are in no group.
NO_GROUP = ("no groups", "keine gruppen", "aucun groupe", "no hay grupos", "nessun gruppo")
# Roles as other systems call them; ours come first.
ROLES = {
    **dict.fromkeys(
        ("learner", "participant", "studierende", "studierender", "studierende/r", "teilnehmer",
         "teilnehmer/in", "étudiant", "étudiante", "estudiante", "studente", "学生"), "student"),
    **dict.fromkeys(
        ("ta", "teaching assistant", "grader", "reader", "tutor", "assistent", "assistent/in",
         "non-editing teacher", "teacher (non-editing)", "trainer/in ohne bearbeitungsrecht",
         "assistant pédagogique", "助教"), "assistant"),
    **dict.fromkeys(
        ("instructor", "professor", "lecturer", "editing teacher", "trainer/in", "dozent",
         "dozent/in", "dozentin", "enseignant", "enseignante", "profesor", "profesora", "docente",
         "教师", "老师"), "teacher"),
}  # fmt: skip
# What stands in place of a name in rows that are not about a person, if nothing else does.
SUMMARY = frozenset((
    "date", "points", "points possible", "max points", "maximum points", "out of", "manual posting",
    "muted", "class average", "overall average", "average", "mean", "median", "total", "sum",
    "minimum", "maximum", "min", "max", "count", "standard deviation", "std dev", "std. dev",
    "datum", "punkte", "punktzahl", "maximale punktzahl", "durchschnitt", "gesamtdurchschnitt",
    "mittelwert", "summe", "gesamt", "standardabweichung", "moyenne", "moyenne générale", "médiane",
    "total général", "promedio", "media", "mediana", "promedio general", "平均", "平均分", "总计",
    "合计", "满分",
))  # fmt: skip
POSSIBLE = frozenset((
    "points possible", "points", "max points", "maximum points", "out of", "punkte", "punktzahl",
    "maximale punktzahl", "满分",
))  # fmt: skip
TEST_STUDENT = frozenset(("student, test", "test student"))
