"""Answers to 12a: wrong ones that must be refused by name, right ones that must be accepted."""

from pyspark.sql import functions as F

from chandylamport.classroom.trials import right, wrong


def ends(cuts):
    """The frontiers of the senders, and those of the receivers."""
    return cuts.toDF("cut", "src", "at_src"), cuts.toDF("cut", "dst", "at_dst")


def placed(messages, cuts):
    """A row for each cut and message, with the frontiers of both ends; null if not named."""
    src, dst = ends(cuts)
    pairs = cuts.select("cut").distinct().join(messages, how="left")
    return pairs.join(src, ["cut", "src"], "left").join(dst, ["cut", "dst"], "left")


def zeros(table):
    return table.fillna(0, ["at_src", "at_dst"])


SENT = "sent <= at_src"
RECEIVED = "(received is not null and received <= at_dst)"


def counted(table, sent=SENT, received=RECEIVED):
    both = table.groupBy("cut").agg(
        F.expr(f"count_if({received} and not {sent}) as orphans"),
        F.expr(f"count_if({sent} and not {received}) as in_transit"),
    )
    return both.withColumn("consistent", F.col("orphans") == 0)


@wrong("audit", "who is not named is lost")
def joins_what_is_there(messages, cuts):
    src, dst = ends(cuts)
    return counted(messages.join(src, "src").join(dst, ["cut", "dst"]))


@wrong("audit", "who is not named is lost")
def compares_with_null(messages, cuts):
    return counted(placed(messages, cuts), received="received <= at_dst")


@wrong("audit", "who is not named is lost")
def forgets_a_silent_sender(messages, cuts):
    table = placed(messages, cuts)
    return counted(table, received="coalesce(received <= at_dst, false)")


@wrong("audit", "never received, so not counted")
def asks_for_a_later_receive(messages, cuts):
    return counted(zeros(placed(messages, cuts)), received="received <= at_dst")


@wrong("audit", "never received, so received at 0")
def fills_every_null(messages, cuts):
    return counted(placed(messages, cuts).fillna(0))


@wrong("audit", "off by one")
def counts_sends_from_zero(messages, cuts):
    return counted(zeros(placed(messages, cuts)), sent="sent < at_src")


@wrong("audit", "off by one")
def counts_all_from_zero(messages, cuts):
    table = zeros(placed(messages, cuts))
    received = "(received is not null and received < at_dst)"
    return counted(table, "sent < at_src", received)


@wrong("audit", "off by one")
def counts_receives_from_zero(messages, cuts):
    received = "(received is not null and received < at_dst)"
    return counted(zeros(placed(messages, cuts)), received=received)


@wrong("audit", "the wrong way round")
def exchanges_inside_and_outside(messages, cuts):
    return counted(zeros(placed(messages, cuts)), sent=RECEIVED, received=SENT)


@wrong("audit", "in transit refused")
def wants_empty_channels(messages, cuts):
    table = counted(zeros(placed(messages, cuts)))
    return table.withColumn("consistent", F.expr("orphans = 0 and in_transit = 0"))


@wrong("audit", "a cut without a row")
def filters_before_it_groups(messages, cuts):
    return counted(zeros(placed(messages, cuts)).where(f"({SENT}) != {RECEIVED}"))


@wrong("audit", "a cut without a row")  # only hidden tests have a trace without messages
def crosses_cuts_and_messages(messages, cuts):
    src, dst = ends(cuts)
    pairs = cuts.select("cut").distinct().crossJoin(messages)
    return counted(zeros(pairs.join(src, ["cut", "src"], "left").join(dst, ["cut", "dst"], "left")))


@wrong("audit", "null for none")
def sums_without_otherwise(messages, cuts):
    table = zeros(placed(messages, cuts)).groupBy("cut")
    orphans = F.expr(f"sum(case when {RECEIVED} and not {SENT} then 1 end) as orphans")
    held = F.expr(f"sum(case when {SENT} and not {RECEIVED} then 1 end) as in_transit")
    table = table.agg(orphans, held)
    return table.withColumn("consistent", F.col("orphans") == 0)


@wrong("audit", "counted several times")
def takes_ids_as_they_come(messages, cuts):
    src, dst = ends(cuts)
    pairs = cuts.select("cut").join(messages, how="left")
    return counted(zeros(pairs.join(src, ["cut", "src"], "left").join(dst, ["cut", "dst"], "left")))


@wrong("audit", "cuts mixed up")
def joins_by_process_alone(messages, cuts):
    src, dst = ends(cuts)
    return counted(messages.join(src, "src").join(dst.drop("cut"), "dst"))


@right("audit")
def in_sql(messages, cuts):
    query = """
        with ids as (select distinct cut from {cuts}),
        inside as (
            select ids.cut, m.sent <= coalesce(s.frontier, 0) as sent,
                m.received is not null and m.received <= coalesce(d.frontier, 0) as received
            from ids left join {messages} m
            left join {cuts} s on s.cut = ids.cut and s.process = m.src
            left join {cuts} d on d.cut = ids.cut and d.process = m.dst
        )
        select count_if(received and not sent) = 0 as consistent, cut,
            count_if(received and not sent) as orphans,
            count_if(sent and not received) as in_transit
        from inside group by cut
    """
    return messages.sparkSession.sql(query, messages=messages, cuts=cuts)


@right("audit")
def with_a_map_for_each_cut(messages, cuts):
    """No join but that of cuts and messages; other columns are left in the table."""
    pairs = F.map_from_entries(F.collect_list(F.struct("process", "frontier")))
    table = cuts.groupBy("cut").agg(pairs.alias("at")).join(messages, how="left")
    sent = F.expr("sent <= coalesce(at[src], 0)")
    received = F.expr("received <= coalesce(at[dst], 0)").eqNullSafe(True)
    both = table.groupBy("cut").agg(
        F.count(F.when(received & ~sent, "id")).alias("orphans"),
        F.coalesce(F.sum((sent & ~received).cast("int")), F.lit(0)).alias("in_transit"),
        F.count("id").alias("messages"),
    )
    return both.withColumn("consistent", ~(F.col("orphans") > 0))


@right("audit")
def in_python_on_collected_rows(messages, cuts):
    """Right, and no way for a large trace."""
    at = {(row.cut, row.process): row.frontier for row in cuts.collect()}
    sent, rows = messages.collect(), []
    for cut in {cut for cut, _ in at}:
        inside = [
            (m.sent <= at.get((cut, m.src), 0), 0 < (m.received or 0) <= at.get((cut, m.dst), 0))
            for m in sent
        ]
        orphans = inside.count((False, True))
        rows.append((cut, orphans, inside.count((True, False)), orphans == 0))
    schema = "cut int, orphans long, in_transit long, consistent boolean"
    return cuts.sparkSession.createDataFrame(rows, schema)
