#!/usr/bin/env python3
"""Runs the `sectile` command as a user does and checks output, files and exit codes.

    cli_test.py SECTILE SOURCE_FOLDER
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SECTILE, SOURCE = sys.argv[1], Path(sys.argv[2])
SMALL = ["--batch", "2", "--heads", "4", "--kv-heads", "2", "--seqlen", "33", "--seqlen-kv", "47", "--headdim", "32"]


def write_npy(path, shape, values, descr="<f4", code="f", fortran=False, version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + header + struct.pack(f"<{len(values)}{code}", *values))


def read_npy(path):
    data = path.read_bytes()
    length, = struct.unpack_from("<H", data, 8)
    header = eval(data[10:10 + length])  # written by us just now
    assert header["descr"] == "<f4" and not header["fortran_order"]
    return header["shape"], struct.unpack_from(f"<{math.prod(header['shape'])}f", data, 10 + length)


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="sectile-cli-")
        self.folder = Path(self.scratch.name)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("SECTILE_")}
        self.environment["SECTILE_CACHE"] = str(self.folder / "cache")

    def tearDown(self):
        self.scratch.cleanup()

    def run_sectile(self, *arguments, code=0, **environment):
        done = subprocess.run([SECTILE, *map(str, arguments)], capture_output=True, text=True,
                              env={**self.environment, **environment}, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def json(self, *arguments, code=0, **environment):
        lines = self.run_sectile(*arguments, "--json", code=code, **environment).stdout.splitlines()
        return [json.loads(line) for line in lines]

    def refused(self, expected, *arguments, **environment):
        done = self.run_sectile(*arguments, code=2, **environment)
        self.assertIn(expected, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_attention_on_real_tensors_compiles_once(self):
        files = [SOURCE / f"examples/data/{name}.npy" for name in "qkv"]
        first, = self.json("attention", *files, "--verify", "-o", self.folder / "o.npy", "--lse", self.folder / "l.npy")
        self.assertEqual(first["source"], "compiled")
        self.assertTrue(first["pass"])
        self.assertLess(first["max_error"], 1e-5)
        self.assertEqual(read_npy(self.folder / "o.npy")[0], (1, 197, 12, 32))
        self.assertEqual(read_npy(self.folder / "l.npy")[0], (1, 12, 197))
        second, = self.json("attention", *files)
        self.assertEqual((second["source"], second["key"]), ("disk", first["key"]))
        text = self.run_sectile("attention", *files).stdout
        self.assertIn("cached", text)
        self.assertIn("nothing compiled", text)

    def test_every_option_changes_the_result_and_verifies(self):
        def output(*options):
            result, = self.json("attention", *SMALL, "--verify", "-o", self.folder / "o.npy", *options)
            self.assertTrue(result["pass"], options)
            return read_npy(self.folder / "o.npy")[1]

        plain = output()
        self.assertEqual(plain, output())
        seen = {plain}
        for options in (["--causal"], ["--causal=top-left"], ["--window", "5,3"], ["--window=5,3", "--alignment=top-left"],
                        ["--scale", "0.5"], ["--softcap", "1.5"], ["--alibi"], ["--bias", "random"],
                        ["--sink", "random"], ["--key-lengths", "0,20"], ["--key-lengths", "11"],
                        ["--dropout", "0.25"], ["--dropout", "0.25", "--dropout-seed", "9"],
                        ["--dropout", "0.25", "--dropout-offset", "9"], ["--seed", "1"]):
            result = output(*options)
            self.assertNotIn(result, seen, options)
            seen.add(result)

    def test_types_targets_and_schedules(self):
        for dtype in ("f16", "bf16"):
            self.assertTrue(self.json("attention", *SMALL, "--dtype", dtype, "--verify")[0]["pass"])
        result, = self.json("attention", "--seqlen", "5", "--headdim", "8", "--target", "interpret", "--verify")
        self.assertEqual((result["target"], result["pass"]), ("interpret", True))
        result, = self.json("attention", *SMALL, "--schedule", "blockM=16,blockN=32", "--headdim-v", "16", "--verify")
        self.assertIn("blockM=16,blockN=32", result["schedule"])
        self.assertTrue(result["pass"])

    def test_files_of_other_types_and_orders(self):
        values = [i % 7 - 3 for i in range(24)]
        for name in "qk":
            write_npy(self.folder / f"{name}.npy", (1, 2, 3, 4), values, "<f2", "e", version=2)
        write_npy(self.folder / "v.npy", (1, 2, 3, 4), values, "<f2", "e", fortran=True)
        files = [self.folder / f"{name}.npy" for name in "qkv"]
        self.assertTrue(self.json("attention", *files, "--verify")[0]["pass"])
        self.assertTrue(self.json("attention", *files, "--verify", "--dtype", "bf16")[0]["pass"])

    def test_bench(self):
        result, = self.json("attention", *SMALL, "--bench", "--repeat", "7")
        self.assertEqual(result["runs"], 7)
        self.assertGreater(result["gflops"], 0)

    def test_lengths_of_zero(self):
        for options in (["--seqlen-kv", "0"], ["--seqlen", "0", "--seqlen-kv", "3"], ["--batch", "0"]):
            self.assertTrue(self.json("attention", *options, "--verify")[0]["pass"], options)

    def test_compile_needs_no_such_device(self):
        for target in ("cpu", "cpu:znver4", "interpret"):
            out = self.folder / target.replace(":", "-")
            result, = self.json("compile", "attention-forward", "--target", target, "--causal", "-o", out)
            self.assertIn(target, result["target"])
            self.assertTrue(result["files"])
            for file in result["files"]:
                self.assertGreater(Path(file).stat().st_size, 0)
            self.assertIn("tile.kernel", (out / "tile.mlir").read_text())

    def test_compile_for_nvidia_gpus(self):
        small = ["compile", "attention-forward", "--headdim", "32", "--dtype", "bf16"]
        schedule = ["--schedule", "blockM=64,blockN=32"]
        for target in ("nvptx:sm_75", "nvptx:sm_90a"):
            out = self.folder / target.replace(":", "-")
            result, = self.json(*small, *schedule, "--target", target, "--toolkit", "none", "-o", out)
            self.assertEqual(result["target"], target + ":driver")  # which assembles the PTX when it loads it
            self.assertEqual([Path(file).name for file in result["files"]],
                             ["tile.mlir", "block.mlir", "llvm.mlir", "kernel.ptx"])
            self.assertEqual(result["resources"]["threads"], 128)
            self.assertIn("block.kernel", (out / "block.mlir").read_text())
            self.assertIn(".target " + target[6:], (out / "kernel.ptx").read_text())
        out = self.folder / "assembled"
        result, = self.json(*small, *schedule, "--target", "nvptx:sm_80", "-o", out)
        if "driver" not in result["target"]:  # this machine has an assembler
            self.assertIn("kernel.cubin", [Path(file).name for file in result["files"]])
            self.assertEqual((out / "kernel.cubin").read_bytes()[:4], b"\x7fELF")
            self.assertEqual(result["resources"]["spill_bytes"], 0)
            self.assertGreater(result["resources"]["registers"], 0)
            nvdisasm = self.folder / "bin" / "nvdisasm"
            nvdisasm.parent.mkdir()
            nvdisasm.write_text("#!/bin/sh\necho LISTED\n")
            nvdisasm.chmod(0o755)
            path = f"{nvdisasm.parent}:{os.environ['PATH']}"
            listed, = self.json(*small, *schedule, "--target", "nvptx:sm_80", "-o", out, PATH=path)
            self.assertEqual((listed["key"], Path(listed["files"][-1]).name), (result["key"], "kernel.sass"))
            self.assertEqual((out / "kernel.sass").read_text(), "LISTED\n")
            shown, = self.json("cache", "show", result["key"])  # the cubin by its size, as it is no text
            self.assertEqual(shown["stages"]["cubin"], (out / "kernel.cubin").stat().st_size)
        self.refused("legal: nvptx:sm_75", *small, "--target", "nvptx:sm_70", "-o", out)
        self.refused("'threads'", *small, "--target", "nvptx:sm_80", "--schedule", "threads=2", "-o", out)
        self.refused("sm_75 allows 65536", "compile", "attention-forward", "--headdim", "256", "--target", "nvptx:sm_75",
                     "--dtype", "f16", "--schedule", "blockM=64,blockN=128,warps=8", "-o", out)
        self.refused("option 'toolkit'", *small, "--target", "nvptx:sm_80", "--toolkit", "/nonexistent", "-o", out)

    def test_cache(self):
        self.assertEqual(self.json("cache", "path")[0]["path"], self.environment["SECTILE_CACHE"])
        self.assertEqual(self.json("cache", "ls"), [])
        key = self.json("attention", *SMALL)[0]["key"]
        self.json("attention", *SMALL, "--causal")
        self.assertIn(key, [line["key"] for line in self.json("cache", "ls")])
        self.assertIn("tile.kernel", self.run_sectile("cache", "show", key[:12]).stdout)
        self.assertEqual(self.json("cache", "verify")[0], {"whole": 2, "damaged": 0})
        entry, = (self.folder / "cache").glob(f"{key}*")
        entry.write_bytes(entry.read_bytes()[:-1])
        self.assertEqual(self.json("cache", "verify", code=1)[0], {"whole": 1, "damaged": 1})
        self.assertEqual(self.json("attention", *SMALL)[0]["source"], "compiled")  # damage is a miss
        self.assertEqual(self.json("cache", "rm", key)[0]["removed"], 1)
        self.refused("is the beginning of no key", "cache", "show", key)
        self.assertEqual(self.json("cache", "rm", "--all")[0]["removed"], 1)
        self.refused("in memory only", "cache", "ls", SECTILE_CACHE="off")

    def test_devices(self):
        devices = {line["device"]: line for line in self.json("devices")}
        self.assertTrue(devices["cpu"]["available"])
        self.assertTrue(devices["interpret"]["available"])
        self.assertIn("not part of this version", devices["hip"]["reason"])
        if "cuda" in devices:
            self.assertIn("NVIDIA driver", devices["cuda"]["reason"])
        else:
            self.assertIn("name", devices["cuda:0"])
        self.assertEqual(sum(device.get("preferred", False) for device in devices.values()), 1)

    def test_attention_on_a_gpu(self):
        gpu = next(line for line in self.json("devices") if line["device"].startswith("cuda"))
        if not gpu["available"]:
            self.skipTest(gpu["reason"])
        for options in ([], ["--causal", "--alibi", "standard"], ["--key-lengths", "20", "--sink", "random"]):
            result, = self.json("attention", *SMALL, "--dtype", "bf16", "--target", "cuda", "--verify", "--bench",
                                "--repeat", "3", *options)
            self.assertTrue(result["pass"], result)
            self.assertTrue(result["target"].startswith("nvptx:sm_"))

    def test_refusals_name_what_is_legal(self):
        self.refused("legal options: --", "attention", "--heeds", "3")
        self.refused("--heeds", "attention", "--heeds", "3")
        self.refused("bottom-right,top-left", "attention", "--causal=left")
        self.refused("f32,f16,bf16", "attention", "--dtype", "f64")
        self.refused("--window", "attention", "--window", "3")
        self.refused("window", "attention", "--window=-2,0")
        self.refused("no tuner", "tune", "attention-forward", "--target", "cpu")
        self.refused("cpu", "attention", "--target", "gpu")
        self.refused("blockM", "attention", "--schedule", "blockX=3")
        self.refused("attention-forward", "compile", "matmul", "-o", self.folder)
        self.refused("expected no file or three", "attention", "q.npy")
        self.refused("describes random tensors", "attention", "a", "b", "c", "--heads", "3")
        self.refused("none.npy: cannot be read", "attention", "none.npy", "none.npy", "none.npy")
        self.refused("contradict", "attention", "--causal", "--alignment", "top-left")
        self.refused("--alignment", "attention", "--alignment", "top-left")
        self.refused("needs --dropout", "attention", "--dropout-seed", "3")
        self.refused("--bench is not given", "attention", "--repeat", "3")
        self.refused("SECTILE_TARGT", "devices", SECTILE_TARGT="cpu")
        self.refused("cache", "nothing")
        self.refused("subcommand", )
        (self.folder / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff{")
        bad = self.folder / "bad.npy"
        self.refused("bad.npy: byte", "attention", bad, bad, bad)

    def test_failures_that_are_not_the_users(self):
        done = self.run_sectile("attention", "--target", "cuda:99", code=1)
        self.assertIn("target 'cuda:99': ", done.stderr)
        if b"__asan_init" in Path(SECTILE).read_bytes():
            return  # AddressSanitizer ends the program instead of throwing bad_alloc
        done = self.run_sectile("attention", "--seqlen", "2000000", "--heads", "1000000", code=1)
        self.assertIn("no memory for a tensor of 512000000000000 bytes", done.stderr)

    def test_help(self):
        for command in ([], ["attention"], ["compile"], ["cache"], ["cache", "ls"], ["devices"]):
            self.assertIn("--help", self.run_sectile(*command, "--help").stdout)
        self.assertIn("--causal", self.run_sectile("attention", "--help").stdout)
        self.assertRegex(self.run_sectile("--version").stdout, r"^\d+\.\d+\.\d+")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
