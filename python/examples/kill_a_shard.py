"""A worker that is killed changes no answer: python python/examples/kill_a_shard.py (needs espalier[ray])."""

import os
import signal
import tempfile
import threading

import numpy as np
import pyarrow as pa
import ray

import espalier.ray as er

ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
rng = np.random.default_rng(1)
n = 200_000
quotes = pa.table(
    {"sym": rng.choice(["ABC", "XYZ"], n), "time": rng.integers(0, 10**9, n), "bid": rng.integers(90, 110, n)}
)
trades = pa.table({"sym": rng.choice(["ABC", "XYZ"], 50_000), "time": rng.integers(0, 10**9, 50_000)})

with tempfile.TemporaryDirectory() as folder:
    table = er.build(f"{folder}/quotes", quotes, ["sym", "time"], shards=8, values=["bid"], backend="ray", owners=2)
    expected = er.join_asof(trades, table, on="time", by="sym")
    victim = table.status()["owners"][0]["pid"]
    threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()
    answers = 0
    while table.status()["owners"][0]["pid"] == victim or answers < 3:
        assert er.join_asof(trades, table, on="time", by="sym").equals(expected)
        answers += 1
    owner = table.status()["owners"][0]
    print(
        f"process {victim} was killed, {owner['pid']} took over; restarts: {owner['restarts']}; same answers: {answers}"
    )
    with open(os.environ.get("PICTURE", f"{folder}/shards.svg"), "w") as file:
        file.write(table.draw())
    table.close()
ray.shutdown()
