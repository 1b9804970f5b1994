"""The C interface of libsectile.so (include/sectile/sectile.h) through ctypes, as far as the benchmarks use it."""
import ctypes

TYPES = {"f32": 0, "f16": 1, "bf16": 2, "f8e4m3": 3, "f8e5m2": 4, "i32": 5}


class SectileError(Exception):
    """What the library refused, in its words."""


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 6), ("strides", ctypes.c_int64 * 6)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("cache", ctypes.c_char_p),
                ("dump", ctypes.c_char_p), ("overrides", ctypes.c_char_p), ("autotune", ctypes.c_int32),
                ("log_level", ctypes.c_int32), ("threads", ctypes.c_int32), ("log", ctypes.c_void_p),
                ("log_user", ctypes.c_void_p)]


class AttentionOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("has_scale", ctypes.c_int32), ("scale", ctypes.c_float),
                ("causal", ctypes.c_int32), ("alignment", ctypes.c_int32), ("window_left", ctypes.c_int64),
                ("window_right", ctypes.c_int64), ("softcap", ctypes.c_float), ("dropout", ctypes.c_float),
                ("seed", ctypes.c_uint64), ("offset", ctypes.c_uint64), ("alibi_slopes", ctypes.c_void_p),
                ("bias", ctypes.c_void_p), ("sink", ctypes.c_void_p), ("key_lengths", ctypes.c_void_p),
                ("query_scale", ctypes.c_void_p), ("key_scale", ctypes.c_void_p), ("value_scale", ctypes.c_void_p)]


class Record(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_char_p), ("key", ctypes.c_char_p), ("source", ctypes.c_int32),
                ("reason", ctypes.c_char_p), ("compile_ms", ctypes.c_double), ("load_ms", ctypes.c_double),
                ("launches", ctypes.c_uint64)]


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        for name in ("error_message", "version", "session_target", "executable_target", "executable_schedule"):
            getattr(self.c, "sectile_" + name).restype = ctypes.c_char_p
        for name in ("executable_resource_count", "history_size"):
            getattr(self.c, "sectile_" + name).restype = ctypes.c_size_t

    def version(self):
        return self.c.sectile_version().decode()

    def check(self, name, *arguments):
        error = ctypes.c_void_p()
        if getattr(self.c, "sectile_" + name)(*arguments, ctypes.byref(error)):
            message = self.c.sectile_error_message(error).decode()
            self.c.sectile_error_free(error)
            raise SectileError(message)


class Call:
    """One attention call. Tensors are (batch, seqlen, heads, dim); anything with data_ptr(), shape and stride()."""

    def __init__(self, session, q, k, v, out, dtype, causal=False, schedule="", stream=None):
        self.session, self.library = session, session.library
        self.arrays = [Array(t.data_ptr(), TYPES[dtype], 4, (ctypes.c_int64 * 6)(*t.shape),
                             (ctypes.c_int64 * 6)(*t.stride())) for t in (q, k, v, out)]
        self.options = AttentionOptions()
        self.library.check("attention_options_init", ctypes.byref(self.options),
                           ctypes.c_size_t(ctypes.sizeof(self.options)))
        self.options.causal = causal
        self.error = ctypes.c_void_p()
        self.arguments = [*(ctypes.byref(a) for a in self.arrays), None, ctypes.byref(self.options),
                          schedule.encode() if schedule else None]
        self.full = [session.handle, ctypes.c_void_p(stream), *self.arguments, ctypes.byref(self.error)]
        self.function = self.library.c.sectile_attention_forward

    def __call__(self):
        if self.function(*self.full):
            message = self.library.c.sectile_error_message(self.error).decode()
            self.library.c.sectile_error_free(self.error)
            raise SectileError(message)

    def resources(self):
        """Of the kernel that runs, after compiling it: its target, its schedule, {"registers": …}."""
        executable = ctypes.c_void_p()
        self.library.check("prepare_attention_forward", self.session.handle, *self.arguments,
                           ctypes.byref(executable))
        c, found = self.library.c, {}
        for i in range(c.sectile_executable_resource_count(executable)):
            name, value = ctypes.c_char_p(), ctypes.c_int64()
            c.sectile_executable_resource(executable, ctypes.c_size_t(i), ctypes.byref(name), ctypes.byref(value))
            found[name.value.decode()] = value.value
        target, schedule = (f(executable).decode() for f in (c.sectile_executable_target,
                                                             c.sectile_executable_schedule))
        c.sectile_executable_free(executable)
        return target, schedule, found


class Session:
    def __init__(self, library, target="", cache="off", log_level=1):
        self.library = library
        options = Options()
        library.check("options_init", ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        self.texts = [target.encode(), cache.encode()]
        options.target, options.cache = self.texts
        options.log_level = log_level
        self.handle = ctypes.c_void_p()
        library.check("session_create", ctypes.byref(options), ctypes.byref(self.handle))

    def target(self):
        return self.library.c.sectile_session_target(self.handle).decode()

    def last(self):
        """The newest line of the history."""
        history, record = ctypes.c_void_p(), Record()
        self.library.check("session_history", self.handle, ctypes.byref(history))
        size = self.library.c.sectile_history_size(history)
        self.library.c.sectile_history_record(history, ctypes.c_size_t(size - 1), ctypes.byref(record))
        result = {"source": ("memory", "disk", "compiled")[record.source], "compile_ms": record.compile_ms,
                  "load_ms": record.load_ms}
        self.library.c.sectile_history_free(history)
        return result

    def close(self):
        self.library.c.sectile_session_free(self.handle)
