"""Records what Spark Structured Streaming does with sequences of micro-batches, for tests/spark.rs to compare with.

Usage: pip install pyspark==4.3.0; python3 record.py [name ..]   (needs Java 17; writes cases/*.json beside this file)

Each case is a query over one or two streams and some batches of rows. A batch is one file per stream; then Spark works until
nothing is left to do, batches without data included, and what it emitted since is recorded, with the rows of its state.

Spark has one watermark for both inputs of a join, the lesser one; Millpond has one for each. So that the two say the same, both
streams of a join have the same delay, and each batch has a row without a partner at the same, greatest time in both.

All other times of a case differ in their milliseconds, so no event time is ever equal to a watermark and no watermark to the end of
a window: what happens then is a decision of each system, and Spark's is listed in tests/spark.rs.
"""

import json
import pathlib
import random
import shutil
import sys
import tempfile
from datetime import datetime, timezone

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

HERE = pathlib.Path(__file__).parent
SCHEMA = "k string, v int, ts timestamp"
BATCHES = 12
ROWS = 8
DELAY = "10 seconds"


def batches(seed, streams):
    """Rows per batch and stream; time moves on by some seconds per batch, and rows come up to 25 seconds late."""
    rng = random.Random(seed)
    milliseconds = rng.sample(range(1, 1000), BATCHES * (ROWS * streams + 1))
    out, now = [], 1_700_000_000
    for _ in range(BATCHES):
        now += rng.choice([0, 3, 7, 12, 30])
        batch = []
        for _ in range(streams):
            rows = []
            for _ in range(rng.randint(1, ROWS)):
                seconds = now - rng.choice([0, 0, 1, 2, 4, 8, 15, 25])
                rows.append({"k": rng.choice("abc"), "v": rng.randint(-5, 9), "ts": seconds * 1000 + milliseconds.pop()})
            batch.append(rows)
        if streams > 1:
            greatest = (now + 1) * 1000 + milliseconds.pop()
            for key, rows in zip("xy", batch):
                rows.append({"k": key, "v": 0, "ts": greatest})
        out.append(batch)
    return out


def w(df):
    return df.withWatermark("ts", DELAY)


def window_columns(df):
    return df.select(F.col("window.start").alias("s"), F.col("window.end").alias("e"), "*").drop("window")


def tumble(df):
    return window_columns(
        w(df).groupBy(F.window("ts", "10 seconds"), "k").agg(F.count("*").alias("n"), F.sum("v").alias("total")))


def hop(df):
    return window_columns(
        w(df).groupBy(F.window("ts", "20 seconds", "5 seconds"), "k").agg(F.count("*").alias("n"), F.max("v").alias("m")))


def session(df):
    sessions = w(df).groupBy(F.session_window("ts", "6 seconds"), "k").agg(F.count("*").alias("n"), F.sum("v").alias("total"))
    return sessions.select(
        F.col("session_window.start").alias("s"), F.col("session_window.end").alias("e"), "k", "n", "total")


def chain(df):
    inner = w(df).groupBy(F.window("ts", "10 seconds")).agg(F.count("*").alias("n"))
    outer = inner.groupBy(F.window(F.window_time("window"), "30 seconds")).agg(F.sum("n").alias("n"), F.count("*").alias("w"))
    return window_columns(outer)


def dedup(df):
    return w(df).dropDuplicates(["k", "v", "ts"]).select("k", "v", "ts")


def join(how):
    def query(left, right):
        l = left.withWatermark("ts", DELAY).select(F.col("k").alias("lk"), F.col("v").alias("lv"), F.col("ts").alias("lt"))
        r = right.withWatermark("ts", DELAY).select(F.col("k").alias("rk"), F.col("v").alias("rv"), F.col("ts").alias("rt"))
        condition = F.expr("lk = rk AND rt >= lt - INTERVAL 3 SECONDS AND rt <= lt + INTERVAL 8 SECONDS")
        return l.join(r, condition, how)
    return query


CASES = [
    # name, streams, query, output mode
    ("filter_append", 1, lambda df: df.where("v > 2").select("k", "v", "ts"), "append"),
    ("total_update", 1, lambda df: df.groupBy("k").agg(F.count("*").alias("n"), F.avg("v").alias("mean")), "update"),
    ("total_complete", 1, lambda df: df.groupBy("k").agg(F.count("*").alias("n"), F.min("v").alias("least")), "complete"),
    ("tumble_append", 1, tumble, "append"),
    ("tumble_update", 1, tumble, "update"),
    ("tumble_complete", 1, tumble, "complete"),
    ("hop_append", 1, hop, "append"),
    ("hop_update", 1, hop, "update"),
    ("session_append", 1, session, "append"),
    ("session_complete", 1, session, "complete"),
    ("chain_append", 1, chain, "append"),
    ("dedup_append", 1, dedup, "append"),
    ("join_inner", 2, join("inner"), "append"),
    ("join_left", 2, join("left_outer"), "append"),
    ("join_right", 2, join("right_outer"), "append"),
    ("join_full", 2, join("full_outer"), "append"),
    ("join_semi", 2, join("left_semi"), "append"),
]


def text(milliseconds):
    seconds, rest = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M:%S}.{rest:03}"


def cell(value):
    """A value as Postgres prints it."""
    if value is None:
        return None
    if hasattr(value, "isoformat"):
        whole = value.strftime("%Y-%m-%d %H:%M:%S")
        return whole if value.microsecond == 0 else f"{whole}.{value.microsecond:06}".rstrip("0")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def record(spark, name, streams, query, mode, seed):
    folder = pathlib.Path(tempfile.mkdtemp())
    inputs = []
    for stream in range(streams):
        (folder / f"in{stream}").mkdir()
        inputs.append(spark.readStream.schema(SCHEMA).json(str(folder / f"in{stream}")))
    emitted = []
    result = query(*inputs)
    running = (
        result.writeStream.outputMode(mode)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .foreachBatch(lambda df, _: emitted.append([[cell(value) for value in row] for row in df.collect()]))
        .start())
    steps = []
    for number, batch in enumerate(batches(seed, streams)):
        emitted.clear()
        for stream, rows in enumerate(batch):
            # A moved file is whole when Spark sees it.
            path = folder / f"{stream}-{number}.json"
            path.write_text("".join(json.dumps(row | {"ts": text(row["ts"])}) + "\n" for row in rows))
            path.rename(folder / f"in{stream}" / path.name)
        running.processAllAvailable()
        state = running.lastProgress["stateOperators"]
        steps.append({
            "input": [[[row["k"], str(row["v"]), text(row["ts"])] for row in rows] for rows in batch],
            "output": [sorted(rows, key=str) for rows in emitted if rows or mode == "complete"],
            "state_rows": [operator["numRowsTotal"] for operator in state],
            "late_rows": sum(operator["numRowsDroppedByWatermark"] for operator in state),
        })
    columns = result.columns
    running.stop()
    shutil.rmtree(folder)
    case = {"name": name, "mode": mode, "seed": seed, "columns": columns, "steps": steps}
    (HERE / "cases" / f"{name}_{seed}.json").write_text(json.dumps(case, indent=None, separators=(",", ":")).replace('{"input"', '\n{"input"') + "\n")


def main():
    (HERE / "cases").mkdir(exist_ok=True)
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    for name, streams, query, mode in CASES:
        if not name.startswith(tuple(sys.argv[1:]) or ""):
            continue
        for seed in (1, 2, 3):
            record(spark, name, streams, query, mode, seed)
            print(name, seed, flush=True)


if __name__ == "__main__":
    main()
