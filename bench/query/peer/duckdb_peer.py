"""Runs DuckDB as the child process of `espalier bench query`.

Each request and each response is one line of JSON:
  {"threads": 2}                                  -> {"version": "1.2.3"}; opens a database in memory
  {"run": "CREATE TABLE ..."}                     -> {}
  {"ask": [statement, ...], "repeat": 5, "answer": file} -> {"seconds": per statement}; the result of the first
                                                     statement is written to the file, as Arrow
  {"again": statement}                            -> {"seconds": of one run}; for a statement that was run before
A failure is answered with {"error": sentence}. Times are measured here, so that they exclude this process
and its pipe: from the text of a statement to an Arrow table, after each statement has been run once.
"""
import json
import os
import statistics
import sys
import time
import warnings

SHORTEST_RUN = 0.005
LONGEST_RUNS = 10.0
MOST_STATEMENTS = 1000


def through_relation(connection, statement):
    return connection.sql(statement).to_arrow_table()


def through_cursor(connection, statement):
    cursor = connection.execute(statement)
    return cursor.to_arrow_table() if hasattr(cursor, "to_arrow_table") else cursor.fetch_arrow_table()


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def faster_way(connection, statement):
    """Which API returns an Arrow table faster depends on the size of the result; DuckDB is timed with the faster one."""
    ways = [through_cursor]
    if hasattr(connection.sql("SELECT 1"), "to_arrow_table"):
        ways.append(through_relation)
    for way in ways:
        way(connection, statement)
    return min(ways, key=lambda way: min(timed(lambda: way(connection, statement))[0] for _ in range(2)))


def ask(connection, statements, repeat):
    way = faster_way(connection, statements[0])
    one, answer = timed(lambda: way(connection, statements[0]))
    # As in bench/query/sql_timing.hpp: enough statements for the clock, and few if one takes long.
    count = max(1, min(MOST_STATEMENTS, int(SHORTEST_RUN / max(one, 1e-9))))
    texts = [statements[i % len(statements)] for i in range(count)]
    seconds, begin = [], time.perf_counter()
    while True:
        seconds.append(timed(lambda: [way(connection, text) for text in texts] and None)[0] / count)
        if len(seconds) >= repeat or time.perf_counter() - begin > LONGEST_RUNS:
            return statistics.median(seconds), answer


def once_more(connection, statement, ways={}):
    """Times one run, so that two engines can alternate, with the API that was faster at the first call."""
    if statement not in ways:
        ways[statement] = faster_way(connection, statement)
    return timed(lambda: ways[statement](connection, statement))[0]


def write_answer(answer, path):
    import pyarrow
    with pyarrow.ipc.new_file(path, answer.schema) as writer:
        writer.write_table(answer)


def open_database(threads):
    import duckdb
    import pyarrow  # noqa: F401  results are Arrow tables
    connection = duckdb.connect(":memory:", config={"threads": threads})
    return connection, {"version": duckdb.__version__}


def reply(connection, request):
    if "run" in request:
        connection.execute(request["run"])
        return {}
    if "again" in request:
        return {"seconds": once_more(connection, request["again"])}
    seconds, answer = ask(connection, request["ask"], request["repeat"])
    write_answer(answer, request["answer"])
    return {"seconds": seconds}


def main():
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not be mixed with responses
    connection = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if "threads" in request:
                connection, result = open_database(request["threads"])
            else:
                result = reply(connection, request)
        except Exception as problem:  # every failure is reported to the parent process
            result = {"error": f"{type(problem).__name__}: {problem}".splitlines()[0]}
        print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    main()
