"""A cluster of three nodes, of which one goes away in mid-query."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest
from shard_cases import CLUSTER, NODE_TOO_SLOW, cluster_queries, cluster_source, started

ray = pytest.importorskip("ray", reason="Ray cannot be installed here (espalier[ray]): its backend is not tested")

import espalier.ray as er  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own code
# A node counts as lost sooner than after half a minute; the patience with one that only is slow stays (10 s a check).
CHECKS = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
HANG = 600  # seconds: more than a machine with any load needs
HEAD = {"num_cpus": 1, "object_store_memory": 100 << 20, "_system_config": CHECKS}


def test_a_node_that_goes_away_in_mid_query(tmp_path):
    from ray.cluster_utils import Cluster

    source = cluster_source()
    nodes = Cluster()

    def start():
        nodes.add_node(**HEAD)
        return [nodes.add_node(num_cpus=1, object_store_memory=100 << 20) for _ in range(2)]

    try:
        others = started(start, nodes.shutdown)
        ray.init(address=nodes.address, **CLUSTER)
        table = er.build(
            tmp_path / "t", source, ["sym", "time"], shards=6, values=["bid"], backend="ray", owners=3, num_cpus=0.5
        )
        local = er.open(tmp_path / "t", backend="local")
        # Spreading is a wish to Ray's scheduler. Three owners with half a CPU each cannot be on one node of one CPU.
        places = {owner["node"] for owner in table.status()["owners"]}
        assert len(places) >= 2
        removed_node = next(node for node in others if node.node_id in places)
        kinds = cluster_queries(3)
        expected = {kind: query(local) for kind, query in kinds.items()}
        asking, problems, finished = threading.Event(), [], []

        def ask():
            try:
                while len(finished) < 4:
                    for kind, query in kinds.items():
                        asking.set()
                        assert query(table) == expected[kind], kind
                    if removed.is_set():
                        finished.append(1)
            except BaseException as error:
                problems.append(error)

        removed = threading.Event()
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        asking.wait()
        nodes.remove_node(removed_node, allow_graceful=False)
        removed.set()
        thread.join(timeout=HANG)
        assert not thread.is_alive() and not problems, problems
        # An owner may outlive its node for a while, and answers until then.
        until = time.monotonic() + HANG
        while removed_node.node_id in {owner["node"] for owner in table.status()["owners"]}:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert {kind: query(table) for kind, query in kinds.items()} == expected
        table.close()
    finally:
        ray.shutdown()
        nodes.shutdown()


def test_the_example_survives_its_kill():
    """python/examples/kill_a_shard.py, where the source tree is."""
    example = pathlib.Path(__file__).resolve().parent.parent / "examples" / "kill_a_shard.py"
    if not example.exists():
        pytest.skip("the example is not here")
    for _ in range(8):
        done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=HANG)
        if NODE_TOO_SLOW not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    assert re.search("restarts: [1-9]", done.stdout)
