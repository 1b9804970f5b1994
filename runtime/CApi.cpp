// The C interface over the C++ one: converts, calls, and lets no exception through.
#include "sectile/sectile.h"

#include "sectile/Attention.h"
#include "sectile/Error.h"
#include "sectile/Session.h"

#include <cstddef>
#include <cstring>
#include <new>

using namespace sectile;

struct sectile_error {
  sectile_status status;
  std::string message;
};

struct sectile_session {
  explicit sectile_session(const Options &options) : session(options), cacheLocation(session.cacheLocation()) {}
  Session session;
  const std::string cacheLocation;
};

struct sectile_history {
  std::vector<LaunchRecord> records;
};

struct sectile_executable {
  std::shared_ptr<const Executable> executable;
  std::string schedule;
};

//===-- errors --------------------------------------------------------------------------------------------------===//

static sectile_status fail(sectile_status status, const char *message, sectile_error **error) {
  if (error) {
    try {
      *error = new sectile_error{status, message};
    } catch (const std::bad_alloc &) {
      *error = nullptr; // sectile_error_message() has words for it
    }
  }
  return status;
}

/// Runs `body` and turns what it throws into a status.
template <class Body> static sectile_status guarded(sectile_error **error, Body &&body) {
  try {
    body();
    return SECTILE_OK;
  } catch (const UserError &e) {
    return fail(SECTILE_USER_ERROR, e.what(), error);
  } catch (const DeviceError &e) {
    return fail(SECTILE_DEVICE_ERROR, e.what(), error);
  } catch (const std::bad_alloc &) {
    return fail(SECTILE_DEVICE_ERROR, "out of memory", error);
  } catch (const std::exception &e) {
    return fail(SECTILE_INTERNAL_ERROR, e.what(), error);
  } catch (...) {
    return fail(SECTILE_INTERNAL_ERROR, "an exception of an unknown type", error);
  }
}

/// A pointer that must not be null.
template <class T> static T &required(T *pointer, const char *name) {
  if (!pointer)
    throw UserError(std::string("argument '") + name + "' is null");
  return *pointer;
}

sectile_status sectile_error_status(const sectile_error *error) { return error ? error->status : SECTILE_DEVICE_ERROR; }
const char *sectile_error_message(const sectile_error *error) {
  return error ? error->message.c_str() : "out of memory";
}
void sectile_error_free(sectile_error *error) { delete error; }

const char *sectile_version() { return SECTILE_VERSION; }

//===-- structs that grow ---------------------------------------------------------------------------------------===//
//
// For each one: its defaults, and the size that it had in the first version of the header, which no caller's is below.

static sectile_options defaultsOf(const sectile_options *) {
  sectile_options defaults = {};
  defaults.log_level = Options().logLevel;
  return defaults;
}
static constexpr size_t firstSizeOf(const sectile_options *) {
  return offsetof(sectile_options, log_user) + sizeof(sectile_options::log_user);
}

static sectile_attention_options defaultsOf(const sectile_attention_options *) {
  sectile_attention_options defaults = {};
  defaults.window_left = AttentionOptions().windowLeft;
  defaults.window_right = AttentionOptions().windowRight;
  return defaults;
}
static constexpr size_t firstSizeOf(const sectile_attention_options *) {
  return offsetof(sectile_attention_options, query_scale);
}

/// `what` has the size.
template <class T> static void checkSize(size_t size, const T *type, const std::string &what) {
  if (size >= firstSizeOf(type) && size <= sizeof(T) && size % alignof(T) == 0)
    return;
  throw UserError(what + " is " + std::to_string(size) + "; legal: the size of the caller's struct, which is from " +
                  std::to_string(firstSizeOf(type)) + " (the first version's) to " + std::to_string(sizeof(T)) +
                  " bytes (this library's) and a multiple of " + std::to_string(alignof(T)) +
                  "; a larger one comes from a newer header than this library");
}

/// Writes the defaults to the caller's struct, as far as it goes.
template <class T> static void initialize(T *options, size_t size, const char *function) {
  required(options, "options");
  checkSize(size, options, std::string("argument 'struct_size' of ") + function);
  T defaults = defaultsOf(options);
  defaults.struct_size = size;
  std::memcpy(options, &defaults, size);
}

/// The caller's struct, with the fields that a newer header added at their defaults.
template <class T> static T versioned(const T *given) {
  T result = defaultsOf(given);
  if (!given)
    return result;
  checkSize(given->struct_size, given, "'struct_size' of argument 'options' (its init function sets it)");
  std::memcpy(&result, given, given->struct_size);
  return result;
}

//===-- conversions ---------------------------------------------------------------------------------------------===//

static ArrayView view(const sectile_array &array, const char *name) {
  if (array.type < SECTILE_F32 || array.type > SECTILE_I1)
    throw UserError(std::string("argument '") + name + "' has type " + std::to_string(array.type) +
                    "; legal: a sectile_type, 0 to 6");
  if (array.rank < 0 || array.rank > SECTILE_MAX_RANK)
    throw UserError(std::string("argument '") + name + "' has rank " + std::to_string(array.rank) + "; legal: 0 to 6");
  const auto rank = static_cast<size_t>(array.rank);
  return ArrayView(array.data, static_cast<Type>(array.type), std::span(array.sizes, rank),
                   std::span(array.strides, rank));
}
static_assert(SECTILE_MAX_RANK == ArrayView::maxRank && static_cast<int>(Type::i1) == SECTILE_I1);

static std::optional<ArrayView> optionalView(const sectile_array *array, const char *name) {
  return array ? std::optional(view(*array, name)) : std::nullopt;
}

static std::string text(const char *string) { return string ? string : ""; }

//===-- sessions ------------------------------------------------------------------------------------------------===//

sectile_status sectile_options_init(sectile_options *options, size_t struct_size, sectile_error **error) {
  return guarded(error, [&] { initialize(options, struct_size, "sectile_options_init"); });
}

sectile_status sectile_session_create(const sectile_options *options, sectile_session **session,
                                      sectile_error **error) {
  return guarded(error, [&] {
    required(session, "session") = nullptr;
    const sectile_options given = versioned(options);
    Options converted;
    converted.target = text(given.target);
    converted.cache = text(given.cache);
    converted.dump = text(given.dump);
    converted.overrides = text(given.overrides);
    if (given.autotune < 0 || given.autotune > 2)
      throw UserError("option 'autotune' is " + std::to_string(given.autotune) + "; legal: 0 (off)");
    converted.autotune = static_cast<Options::Autotune>(given.autotune);
    converted.logLevel = given.log_level;
    converted.threads = given.threads;
    if (given.log)
      converted.log = [log = given.log, user = given.log_user](int level, const std::string &line) {
        log(user, level, line.c_str());
      };
    *session = new sectile_session(converted);
  });
}

sectile_status sectile_session_create_from_environment(sectile_session **session, sectile_error **error) {
  return guarded(error, [&] {
    required(session, "session") = nullptr;
    *session = new sectile_session(Options::fromEnvironment());
  });
}

void sectile_session_free(sectile_session *session) { delete session; }

const char *sectile_session_target(const sectile_session *session) { return session->session.target().c_str(); }
const char *sectile_session_cache_location(const sectile_session *session) { return session->cacheLocation.c_str(); }
int32_t sectile_session_threads(const sectile_session *session) { return session->session.threads(); }

void sectile_session_counters(const sectile_session *session, sectile_counters *counters) {
  const CacheCounters now = session->session.counters();
  *counters = {now.memoryHits, now.diskHits, now.compilations, now.launches};
}

sectile_status sectile_session_history(const sectile_session *session, sectile_history **history,
                                       sectile_error **error) {
  return guarded(error, [&] {
    required(history, "history") = nullptr;
    *history = new sectile_history{required(session, "session").session.history()};
  });
}

size_t sectile_history_size(const sectile_history *history) { return history->records.size(); }

void sectile_history_record(const sectile_history *history, size_t index, sectile_launch_record *record) {
  if (index >= history->records.size()) {
    *record = {"", "", 0, "", 0, 0, 0};
    return;
  }
  const LaunchRecord &line = history->records[index];
  static_assert(static_cast<int>(LaunchRecord::Source::memory) == SECTILE_FROM_MEMORY &&
                static_cast<int>(LaunchRecord::Source::disk) == SECTILE_FROM_DISK &&
                static_cast<int>(LaunchRecord::Source::compiled) == SECTILE_COMPILED);
  *record = {line.kernel.c_str(), line.key.c_str(), static_cast<int32_t>(line.source),
             line.reason.c_str(), line.compileMs,   line.loadMs,
             line.launches};
}

void sectile_history_free(sectile_history *history) { delete history; }

//===-- attention -----------------------------------------------------------------------------------------------===//

sectile_status sectile_attention_options_init(sectile_attention_options *options, size_t struct_size,
                                              sectile_error **error) {
  return guarded(error, [&] { initialize(options, struct_size, "sectile_attention_options_init"); });
}

static AttentionOptions convert(const sectile_attention_options *options) {
  const sectile_attention_options given = versioned(options);
  AttentionOptions result;
  if (given.has_scale)
    result.scale = given.scale;
  result.causal = given.causal != 0;
  if (given.alignment != SECTILE_BOTTOM_RIGHT && given.alignment != SECTILE_TOP_LEFT)
    throw UserError("option 'alignment' is " + std::to_string(given.alignment) +
                    "; legal: 0 (bottom-right), 1 (top-left)");
  result.alignment = given.alignment == SECTILE_TOP_LEFT ? MaskAlignment::topLeft : MaskAlignment::bottomRight;
  result.windowLeft = given.window_left;
  result.windowRight = given.window_right;
  result.softcap = given.softcap;
  result.dropout = given.dropout;
  result.seed = given.seed;
  result.offset = given.offset;
  result.alibiSlopes = optionalView(given.alibi_slopes, "alibi_slopes");
  result.bias = optionalView(given.bias, "bias");
  result.sink = optionalView(given.sink, "sink");
  result.keyLengths = optionalView(given.key_lengths, "key_lengths");
  result.queryScale = optionalView(given.query_scale, "query_scale");
  result.keyScale = optionalView(given.key_scale, "key_scale");
  result.valueScale = optionalView(given.value_scale, "value_scale");
  return result;
}

namespace {
/// The checked arguments of a call. Braces initialize in order, so that of several errors the first one is reported.
struct AttentionCall {
  Session &session;
  ArrayView q, k, v, out;
  std::optional<ArrayView> lse;
  AttentionOptions options;
  Schedule schedule;
};
} // namespace

static AttentionCall checked(sectile_session *session, const sectile_array *q, const sectile_array *k,
                             const sectile_array *v, const sectile_array *out, const sectile_array *lse,
                             const sectile_attention_options *options, const char *schedule) {
  return {required(session, "session").session,
          view(required(q, "q"), "q"),
          view(required(k, "k"), "k"),
          view(required(v, "v"), "v"),
          view(required(out, "out"), "out"),
          optionalView(lse, "lse"),
          convert(options),
          parseSchedule(text(schedule))};
}

/// The stream of a call: null is the host's on a target of the host, the default one on a GPU.
static Stream streamOf(const Session &session, void *handle) {
  const bool host = session.target().rfind("nvptx:", 0) != 0;
  return host && !handle ? Stream::host() : Stream::cuda(handle);
}

sectile_status sectile_attention_forward(sectile_session *session, void *stream, const sectile_array *q,
                                         const sectile_array *k, const sectile_array *v, const sectile_array *out,
                                         const sectile_array *lse, const sectile_attention_options *options,
                                         const char *schedule, sectile_error **error) {
  return guarded(error, [&] {
    const AttentionCall c = checked(session, q, k, v, out, lse, options, schedule);
    attentionForward(c.session, streamOf(c.session, stream), c.q, c.k, c.v, c.out, c.lse, c.options, c.schedule);
  });
}

int32_t sectile_dropout_keeps(uint64_t seed, uint64_t offset, float dropout, int64_t batch, int64_t head, int64_t query,
                              int64_t key) {
  return dropoutKeeps(seed, offset, dropout, batch, head, query, key);
}

//===-- executables ---------------------------------------------------------------------------------------------===//

sectile_status sectile_prepare_attention_forward(sectile_session *session, const sectile_array *q,
                                                 const sectile_array *k, const sectile_array *v,
                                                 const sectile_array *out, const sectile_array *lse,
                                                 const sectile_attention_options *options, const char *schedule,
                                                 sectile_executable **executable, sectile_error **error) {
  return guarded(error, [&] {
    required(executable, "executable") = nullptr;
    const AttentionCall c = checked(session, q, k, v, out, lse, options, schedule);
    auto prepared = prepareAttentionForward(c.session, c.q, c.k, c.v, c.out, c.lse, c.options, c.schedule);
    std::string fields = toString(prepared->schedule());
    *executable = new sectile_executable{std::move(prepared), std::move(fields)};
  });
}

void sectile_executable_free(sectile_executable *executable) { delete executable; }

const char *sectile_executable_name(const sectile_executable *e) { return e->executable->name().c_str(); }
const char *sectile_executable_key(const sectile_executable *e) { return e->executable->key().c_str(); }
const char *sectile_executable_target(const sectile_executable *e) { return e->executable->target().c_str(); }
const char *sectile_executable_schedule(const sectile_executable *e) { return e->schedule.c_str(); }

size_t sectile_executable_stage_count(const sectile_executable *e) { return e->executable->stages().size(); }

void sectile_executable_stage(const sectile_executable *e, size_t index, sectile_stage *stage) {
  *stage = {"", "", "", 0};
  if (index < e->executable->stages().size()) {
    const Stage &from = e->executable->stages()[index];
    *stage = {from.name.c_str(), from.file.c_str(), from.text.data(), from.text.size()};
  }
}

size_t sectile_executable_resource_count(const sectile_executable *e) { return e->executable->resources().size(); }

void sectile_executable_resource(const sectile_executable *e, size_t index, const char **name, int64_t *value) {
  *name = "";
  *value = 0;
  if (index < e->executable->resources().size()) {
    const auto &[resource, amount] = e->executable->resources()[index];
    *name = resource.c_str();
    *value = amount;
  }
}
