#!/usr/bin/env python3
"""Many processes on one cache directory, some of them killed: cache_processes.py CACHE_CLIENT [TARGET]"""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CLIENT = sys.argv.pop(1)
TARGET = sys.argv.pop(1) if len(sys.argv) > 1 else "interpret"


class CacheProcesses(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sectile-test-")
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name) / "cache"

    def start(self, variants, **environment):
        client = subprocess.Popen([CLIENT, self.cache, TARGET, str(variants)], stdin=subprocess.PIPE, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment})
        self.assertEqual(client.stdout.readline(), "ready\n")
        return client

    def finish(self, client, go=True):
        """[key, source] of each variant."""
        out, err = client.communicate("\n" if go else None, timeout=120)
        self.assertEqual((client.returncode, err), (0, ""))
        return [line.split() for line in out.splitlines()]

    def files(self, suffix):
        return sorted(path.name for path in self.cache.iterdir() if path.suffix == suffix)

    def test_sixteen_processes_on_one_empty_cache(self):
        clients = [self.start(3) for _ in range(16)]
        for client in clients:  # all at once
            client.stdin.write("\n")
            client.stdin.flush()
        results = [self.finish(client, go=False) for client in clients]
        keys = [[key for key, _ in result] for result in results]
        self.assertEqual(len(keys[0]), 3)
        self.assertTrue(all(k == keys[0] for k in keys))
        self.assertEqual(self.files(".sectile"), sorted(key + ".sectile" for key in keys[0]))
        self.assertEqual(self.files(".tmp"), [])
        self.assertEqual({source for _, source in self.finish(self.start(3))}, {"disk"})

    def test_the_same_kernel_gives_the_same_bytes(self):
        first = self.finish(self.start(1))
        path = self.cache / (first[0][0] + ".sectile")
        before = path.read_bytes()
        path.unlink()
        self.finish(self.start(1))
        self.assertEqual(path.read_bytes(), before)

    def test_killed_writers_leave_nothing_that_is_read(self):
        random.seed(1)
        variants, killed = 200, 0
        for _ in range(12):
            client = self.start(variants)
            client.stdin.write("\n")
            client.stdin.flush()
            time.sleep(random.uniform(0.02, 0.25))
            client.send_signal(signal.SIGKILL)
            client.communicate()
            killed += client.returncode == -signal.SIGKILL
        self.assertGreater(killed, 0)
        written = len(self.files(".sectile"))
        self.assertLessEqual(len(self.files(".tmp")), killed)  # at most one each
        begin = time.monotonic()
        results = self.finish(self.start(variants))
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual(sum(source == "disk" for _, source in results), written)
        self.assertEqual({source for _, source in self.finish(self.start(variants))}, {"disk"})

    def test_nothing_of_the_process_is_in_the_key(self):
        self.finish(self.start(2))
        for path in self.cache.iterdir():
            os.utime(path, (1, 1))
        moved = self.cache.with_name("moved")
        self.cache.rename(moved)
        self.cache = moved
        again = self.finish(self.start(2, PATH="/nowhere", HOME="/nowhere", LANG="tr_TR.UTF-8"))
        self.assertEqual({source for _, source in again}, {"disk"})


if __name__ == "__main__":
    unittest.main()
