#!/usr/bin/env python3
"""The C interface from a foreign language, without anything but ctypes: capi.py LIBRARY TARGET"""
import ctypes as c
import math
import random
import sys
import threading
import unittest

F32, I32 = 0, 5
OK, USER_ERROR, INTERNAL_ERROR, DEVICE_ERROR = range(4)


class Array(c.Structure):
    _fields_ = [("data", c.c_void_p), ("type", c.c_int32), ("rank", c.c_int32), ("sizes", c.c_int64 * 6),
                ("strides", c.c_int64 * 6)]


LOG = c.CFUNCTYPE(None, c.c_void_p, c.c_int32, c.c_char_p)


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("target", c.c_char_p), ("cache", c.c_char_p), ("dump", c.c_char_p),
                ("overrides", c.c_char_p), ("autotune", c.c_int32), ("log_level", c.c_int32), ("threads", c.c_int32),
                ("log", LOG), ("log_user", c.c_void_p)]


class AttentionOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("has_scale", c.c_int32), ("scale", c.c_float), ("causal", c.c_int32),
                ("alignment", c.c_int32), ("window_left", c.c_int64), ("window_right", c.c_int64),
                ("softcap", c.c_float), ("dropout", c.c_float), ("seed", c.c_uint64), ("offset", c.c_uint64),
                ("alibi_slopes", c.POINTER(Array)), ("bias", c.POINTER(Array)), ("sink", c.POINTER(Array)),
                ("key_lengths", c.POINTER(Array)), ("query_scale", c.POINTER(Array)), ("key_scale", c.POINTER(Array)),
                ("value_scale", c.POINTER(Array))]


class Counters(c.Structure):
    _fields_ = [(name, c.c_uint64) for name in ("memory_hits", "disk_hits", "compilations", "launches")]


class Record(c.Structure):
    _fields_ = [("kernel", c.c_char_p), ("key", c.c_char_p), ("source", c.c_int32), ("reason", c.c_char_p),
                ("compile_ms", c.c_double), ("load_ms", c.c_double), ("launches", c.c_uint64)]


class Stage(c.Structure):
    _fields_ = [("name", c.c_char_p), ("file", c.c_char_p), ("bytes", c.c_void_p), ("size", c.c_size_t)]


def load(path):
    library = c.CDLL(path)
    for name in ("error_message", "version", "session_target", "session_cache_location", "executable_name",
                 "executable_key", "executable_target", "executable_schedule"):
        getattr(library, "sectile_" + name).restype = c.c_char_p
    for name in ("history_size", "executable_stage_count", "executable_resource_count"):
        getattr(library, "sectile_" + name).restype = c.c_size_t
    return library


LIBRARY, TARGET = load(sys.argv.pop(1)), sys.argv.pop(1)


class SectileError(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


def call(name, *arguments):
    error = c.c_void_p()
    status = getattr(LIBRARY, "sectile_" + name)(*arguments, c.byref(error))
    if status != OK:
        message = LIBRARY.sectile_error_message(error).decode()
        assert LIBRARY.sectile_error_status(error) == status
        LIBRARY.sectile_error_free(error)
        raise SectileError(status, message)
    assert not error


class Tensor:
    """(batch, seqlen, heads, dim) and other shapes, row-major, of f32 or i32."""

    def __init__(self, sizes, values=None, type=F32):
        self.sizes = sizes
        count = math.prod(sizes)
        self.memory = ((c.c_float if type == F32 else c.c_int32) * max(count, 1))(*(values or [0] * count))
        strides = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
        self.array = Array(c.addressof(self.memory), type, len(sizes), (c.c_int64 * 6)(*sizes),
                           (c.c_int64 * 6)(*strides))

    def __getitem__(self, index):
        offset = 0
        for size, i in zip(self.sizes, index):
            offset = offset * size + i
        return self.memory[offset]


def tensor(*sizes):
    return Tensor(sizes, [random.gauss(0, 1) for _ in range(math.prod(sizes))])


def reference(q, k, v, causal=False):
    """out and lse as dictionaries, in double precision."""
    batch, sq, heads, dim = q.sizes
    sk, group = k.sizes[1], heads // k.sizes[2]
    out, lse = {}, {}
    for b in range(batch):
        for h in range(heads):
            for i in range(sq):
                keys = [j for j in range(sk) if not causal or j <= i + sk - sq]
                scores = [sum(q[b, i, h, d] * k[b, j, h // group, d] for d in range(dim)) / math.sqrt(dim)
                          for j in keys]
                total = sum(math.exp(s) for s in scores)
                lse[b, h, i] = math.log(total) if total else -math.inf
                for d in range(v.sizes[3]):
                    out[b, i, h, d] = sum(math.exp(s) * v[b, j, h // group, d]
                                          for s, j in zip(scores, keys)) / (total or 1)
    return out, lse


class CApi(unittest.TestCase):
    def setUp(self):
        random.seed(1)
        self.lines = []
        self.log = LOG(lambda user, level, line: self.lines.append((user, level, line.decode())))
        self.session = self.create(target=TARGET.encode(), cache=b"off", log=self.log, log_user=17, log_level=2)
        self.addCleanup(LIBRARY.sectile_session_free, self.session)

    def create(self, **fields):
        options = Options()
        call("options_init", c.byref(options), c.c_size_t(c.sizeof(options)))
        self.assertEqual(options.struct_size, c.sizeof(Options))
        for name, value in fields.items():
            setattr(options, name, value)
        session = c.c_void_p()
        call("session_create", c.byref(options), c.byref(session))
        return session

    def options(self, **fields):
        options = AttentionOptions()
        call("attention_options_init", c.byref(options), c.c_size_t(c.sizeof(options)))
        self.assertEqual(options.struct_size, c.sizeof(AttentionOptions))
        self.assertEqual((options.window_left, options.window_right), (-1, -1))
        for name, value in fields.items():
            setattr(options, name, value)
        return options

    def forward(self, q, k, v, out, lse=None, options=None, schedule=None, stream=None):
        call("attention_forward", self.session, stream, c.byref(q.array), c.byref(k.array), c.byref(v.array),
             c.byref(out.array), c.byref(lse.array) if lse else None, c.byref(options) if options else None, schedule)

    def counters(self):
        counters = Counters()
        LIBRARY.sectile_session_counters(self.session, c.byref(counters))
        return counters

    def check(self, out, expected):
        for index, value in expected.items():
            self.assertTrue(out[index] == value or abs(out[index] - value) < 1e-4, f"{index}: {out[index]} {value}")

    def test_attention(self):
        q, k, v = tensor(2, 5, 4, 8), tensor(2, 7, 2, 8), tensor(2, 7, 2, 6)
        out, lse = Tensor((2, 5, 4, 6)), Tensor((2, 4, 5))
        self.forward(q, k, v, out, lse)
        expected, expected_lse = reference(q, k, v)
        self.check(out, expected)
        self.check(lse, expected_lse)
        self.forward(q, k, v, out, lse, self.options(causal=1))
        expected, expected_lse = reference(q, k, v, causal=True)
        self.check(out, expected)
        self.check(lse, expected_lse)
        self.forward(q, k, v, out, None, self.options(causal=1), b"blockM=16,blockN=16")
        self.check(out, expected)

    def test_option_arrays_and_scale(self):
        q, k, v, out = tensor(1, 3, 1, 4), tensor(1, 3, 1, 4), tensor(1, 3, 1, 4), Tensor((1, 3, 1, 4))
        lengths = Tensor((1,), [1], I32)
        self.forward(q, k, v, out, options=self.options(key_lengths=c.pointer(lengths.array)))
        self.check(out, {(0, i, 0, d): v[0, 0, 0, d] for i in range(3) for d in range(4)})
        self.forward(q, k, v, out, options=self.options(has_scale=1, scale=0.0))
        self.check(out, {(0, i, 0, d): sum(v[0, j, 0, d] for j in range(3)) / 3 for i in range(3) for d in range(4)})

    def test_session_queries(self):
        self.assertRegex(LIBRARY.sectile_version().decode(), r"^\d+\.\d+\.\d+$")
        self.assertTrue(LIBRARY.sectile_session_target(self.session).decode().startswith(TARGET))
        self.assertEqual(LIBRARY.sectile_session_cache_location(self.session), b"memory")
        self.assertGreaterEqual(LIBRARY.sectile_session_threads(self.session), 1)
        q, out = tensor(1, 2, 1, 4), Tensor((1, 2, 1, 4))
        for _ in range(3):
            self.forward(q, q, q, out)
        counters = self.counters()
        self.assertEqual((counters.compilations, counters.memory_hits, counters.launches), (1, 2, 3))
        history, record = c.c_void_p(), Record()
        call("session_history", self.session, c.byref(history))
        self.assertEqual(LIBRARY.sectile_history_size(history), 1)
        LIBRARY.sectile_history_record(history, c.c_size_t(0), c.byref(record))
        self.assertEqual((record.source, record.reason, record.launches), (2, b"first use of kernel", 3))
        self.assertEqual(len(record.key), 32)
        LIBRARY.sectile_history_record(history, c.c_size_t(9), c.byref(record))
        self.assertEqual(record.kernel, b"")
        LIBRARY.sectile_history_free(history)
        self.assertTrue(any(user == 17 and level == 2 and "compiled" in line for user, level, line in self.lines))

    def test_executable(self):
        q, executable = tensor(1, 2, 1, 4), c.c_void_p()
        q.array.data = None  # nothing is read
        arrays = [c.byref(q.array)] * 4
        call("prepare_attention_forward", self.session, *arrays, None, None, b"blockM=16", c.byref(executable))
        self.assertEqual(self.counters().launches, 0)
        self.assertIn("blockM=16", LIBRARY.sectile_executable_schedule(executable).decode())
        self.assertEqual(len(LIBRARY.sectile_executable_key(executable)), 32)
        self.assertTrue(LIBRARY.sectile_executable_target(executable).decode().startswith(TARGET))
        stage = Stage()
        LIBRARY.sectile_executable_stage(executable, c.c_size_t(0), c.byref(stage))
        self.assertEqual((stage.name, stage.file), (b"tile", b"tile.mlir"))
        self.assertIn(b"tile.kernel", c.string_at(stage.bytes, stage.size))
        count = LIBRARY.sectile_executable_stage_count(executable)
        LIBRARY.sectile_executable_stage(executable, c.c_size_t(count), c.byref(stage))
        self.assertEqual(stage.size, 0)
        name, value = c.c_char_p(), c.c_int64()
        for index in range(LIBRARY.sectile_executable_resource_count(executable)):
            LIBRARY.sectile_executable_resource(executable, c.c_size_t(index), c.byref(name), c.byref(value))
            self.assertTrue(name.value)
        LIBRARY.sectile_executable_free(executable)

    def refused(self, status, words, function, *arguments, **fields):
        with self.assertRaises(SectileError) as caught:
            function(*arguments, **fields)
        self.assertEqual(caught.exception.status, status)
        for word in words:
            self.assertIn(word, caught.exception.message)

    def test_errors(self):
        q, out = tensor(1, 2, 1, 4), Tensor((1, 2, 1, 4), [7.0] * 8)
        bad = tensor(1, 2, 1, 5)
        self.refused(USER_ERROR, ["k's headDim"], self.forward, q, bad, q, out)
        self.refused(USER_ERROR, ["schedule", "blockQ"], self.forward, q, q, q, out, schedule=b"blockQ=3")
        self.refused(USER_ERROR, ["alignment", "2"], self.forward, q, q, q, out, options=self.options(alignment=2))
        self.refused(USER_ERROR, ["struct_size", "9999"], self.forward, q, q, q, out,
                     options=self.options(struct_size=9999))
        self.refused(USER_ERROR, ["struct_size", "is 8;"], self.forward, q, q, q, out,
                     options=self.options(struct_size=8))
        self.refused(USER_ERROR, ["softcap"], self.forward, q, q, q, out, options=self.options(softcap=-1.0))
        self.refused(USER_ERROR, ["CUDA stream", TARGET], self.forward, q, q, q, out, stream=c.c_void_p(64))
        q.array.rank = 7
        self.refused(USER_ERROR, ["'q'", "rank 7"], self.forward, q, bad, bad, out)
        q.array.rank, q.array.type = 4, 99
        self.refused(USER_ERROR, ["'q'", "type 99"], self.forward, q, bad, bad, out)
        self.refused(USER_ERROR, ["'q'", "null"], call, "attention_forward", self.session, None, None, None, None, None,
                     None, None, None)
        self.refused(USER_ERROR, ["toaster"], self.create, target=b"toaster", cache=b"off")
        self.refused(DEVICE_ERROR, ["cuda:99"], self.create, target=b"cuda:99", cache=b"off")
        self.refused(USER_ERROR, ["autotune"], self.create, target=b"interpret", cache=b"off", autotune=1)
        self.refused(USER_ERROR, ["autotune"], self.create, target=b"interpret", cache=b"off", autotune=5)
        self.assertEqual(list(out.memory), [7.0] * 8)
        # Without a place for the message there is still the status.
        session = c.c_void_p(1)
        self.assertEqual(LIBRARY.sectile_session_create(None, None, None), USER_ERROR)
        options = Options(struct_size=c.sizeof(Options), target=b"toaster")
        self.assertEqual(LIBRARY.sectile_session_create(c.byref(options), c.byref(session), None), USER_ERROR)
        self.assertIsNone(session.value)
        for function in ("session", "error", "history", "executable"):
            getattr(LIBRARY, f"sectile_{function}_free")(None)

    def test_an_older_caller(self):
        """A struct that ends earlier: no byte after its end is written, and what it lacks has its default."""
        size = AttentionOptions.query_scale.offset  # where it ended in the first version
        memory = (c.c_ubyte * c.sizeof(AttentionOptions))(*[0xa5] * c.sizeof(AttentionOptions))
        call("attention_options_init", memory, c.c_size_t(size))
        self.assertEqual(set(memory[size:]), {0xa5})
        options = AttentionOptions.from_buffer(memory)  # its last pointers are no addresses
        self.assertEqual((options.struct_size, options.window_left, options.window_right), (size, -1, -1))
        options.causal = 1
        q, out = tensor(1, 2, 1, 4), Tensor((1, 2, 1, 4))
        self.forward(q, q, q, out, options=options)
        self.check(out, reference(q, q, q, causal=True)[0])

    def test_sizes_of_no_version(self):
        for struct, name, first in ((Options, "options_init", c.sizeof(Options)),
                                    (AttentionOptions, "attention_options_init", AttentionOptions.query_scale.offset)):
            known = c.sizeof(struct)
            for size in (0, 8, first - 8, known - 1, known + 8, 1 << 40):
                memory = (c.c_ubyte * (known + 8))(*[0xa5] * (known + 8))
                self.refused(USER_ERROR, ["struct_size", "sectile_" + name, f"is {size};", str(first), str(known)],
                             call, name, memory, c.c_size_t(size))
                self.assertEqual(set(memory), {0xa5})
            self.refused(USER_ERROR, ["'options'", "null"], call, name, None, c.c_size_t(known))

    def test_threads(self):
        q, failures = tensor(1, 4, 2, 8), []
        expected = reference(q, q, q)[0]

        def work():
            try:
                out = Tensor((1, 4, 2, 8))
                self.forward(q, q, q, out)
                self.check(out, expected)
            except Exception as e:  # the assertion of a thread would be lost
                failures.append(e)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.counters().compilations, 1)

    def test_dropout_keeps(self):
        LIBRARY.sectile_dropout_keeps.argtypes = [c.c_uint64, c.c_uint64, c.c_float] + [c.c_int64] * 4
        self.assertEqual(LIBRARY.sectile_dropout_keeps(1, 0, 0.0, 0, 0, 0, 0), 1)
        kept = sum(LIBRARY.sectile_dropout_keeps(1, 0, 0.25, 0, 0, i, j) for i in range(50) for j in range(50))
        self.assertTrue(1750 < kept < 2000, kept)


if __name__ == "__main__":
    unittest.main()
