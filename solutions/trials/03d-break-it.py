"""Answers to 03d: wrong ones that must be refused by name, right ones that must be accepted."""

from chandylamport.classroom.trials import right, wrong

BACK = "q records; p receives marker from q; q receives marker from p"
FORTH = "p records; q receives marker from p; p receives marker from q"
MORE = "; r receives marker from q; q receives marker from r; p receives marker from q; "
RIGHT = {
    "NoLog": "p sends m to q; q records; q receives m; p receives marker from q; "
    "q receives marker from p",
    "LogsFromTheBeginning": f"p sends m to q; q receives m; {BACK}",
    "RecordsAtEveryMarker": "p records; p sends m to q; q receives marker from p; q receives m; "
    "p receives marker from q",
    "LeavesTheFirstChannelOpen": "p records; q receives marker from p; p sends m to q; "
    "q receives m; p receives marker from q",
    "ClosesAllChannels": "q sends m to r; p records; r receives marker from p; r receives m; "
    f"q receives marker from p{MORE}p receives marker from r",
    "LogsASet": "p sends 50 to q; p sends 50.2 to q; q records; q receives 50; q receives 50.2; "
    "p receives marker from q; q receives marker from p",
}


@wrong("break_it", "no schedule")
def a_list_of_steps(name):
    return RIGHT[name].split("; ")


@wrong("break_it", "a step that cannot happen")
def overtakes_the_marker(name):
    return "p records; p sends m to q; q receives m; q receives marker from p"


@wrong("break_it", "a step that cannot happen")
def asks_a_stranger(name):
    return RIGHT[name].replace("q", "s")


@wrong("break_it", "nobody begins")
def the_computation_alone(name):
    return "p sends m to q; q receives m"


@wrong("break_it", "not complete")
def stops_too_early(name):
    return "; ".join(RIGHT[name].split("; ")[:-1])


@wrong("break_it", "nothing goes wrong")
def a_quiet_round(name):
    return FORTH


@wrong("break_it", "the wrong variant")
def the_same_schedule_for_all(name):
    return f"p sends m to q; q receives m; {FORTH}"


@wrong("break_it", "the wrong variant")  # only a hidden test asks for this variant
def mistakes_the_first_channel(name):
    return RIGHT["NoLog" if name == "LeavesTheFirstChannelOpen" else name]


@wrong("break_it", "nothing goes wrong")  # only a hidden test asks for the set
def sends_one_of_the_two(name):
    if name == "LogsASet":
        return f"p sends 50 to q; q receives 50; {BACK}"
    return RIGHT[name]


@right("break_it")
def on_one_line(name):
    return RIGHT[name]


@right("break_it")
def with_remarks_and_both_beginning(name):
    steps = dict(RIGHT)
    steps["NoLog"] = """
        p sends m to q
        p records
        q records                  # both begin
        q receives m               # behind q's recording, before p's marker
        q receives marker from p
        p receives marker from q
    """
    return steps[name].replace("; ", "\n")
