/* The C interface: attention on raw pointers for any language that can call C (C99, no C++).
 *
 *   sectile_session *session;
 *   sectile_error *error = NULL;
 *   if (sectile_session_create_from_environment(&session, &error) != SECTILE_OK) {
 *     fprintf(stderr, "%s\n", sectile_error_message(error));
 *     sectile_error_free(error);
 *   }
 *   sectile_array q = {q_data, SECTILE_F32, 4, {batch, seqlen, heads, dim},
 *                      {seqlen * heads * dim, heads * dim, dim, 1}};
 *   ... k, v, out likewise ...
 *   if (sectile_attention_forward(session, NULL, &q, &k, &v, &out, NULL, NULL, NULL, &error) != SECTILE_OK)
 *     ... as above ...
 *   sectile_session_free(session);
 *
 * Functions that can fail return a status. With a status other than SECTILE_OK, `*error` (unless `error` is null) is a
 * new object with the message, which the caller frees. On success `*error` is left as it was.
 * Everything may be called from any thread. Strings are UTF-8 and end with a zero. Structs that begin with
 * `struct_size` are filled by their init function first, which is told sizeof of the caller's struct and writes no more
 * than that, so that programs built with an older header keep working:
 *
 *   sectile_options options;
 *   if (sectile_options_init(&options, sizeof options, &error) != SECTILE_OK) ...
 */
#ifndef SECTILE_SECTILE_H
#define SECTILE_SECTILE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SECTILE_API __attribute__((visibility("default")))
#else
#define SECTILE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- errors ------------------------------------------------------------------------------------------------------ */

typedef enum sectile_status {
  SECTILE_OK = 0,
  SECTILE_USER_ERROR = 1,     /* the caller asked for something illegal; nothing was written */
  SECTILE_INTERNAL_ERROR = 2, /* a fault of Sectile */
  SECTILE_DEVICE_ERROR = 3    /* the device or the operating system refused */
} sectile_status;

typedef struct sectile_error sectile_error;

SECTILE_API sectile_status sectile_error_status(const sectile_error *error);
/* Names the culprit, the rule, the actual values and what would be legal. Lives as long as `error`. */
SECTILE_API const char *sectile_error_message(const sectile_error *error);
SECTILE_API void sectile_error_free(sectile_error *error); /* null is fine */

/* "0.1.0". */
SECTILE_API const char *sectile_version(void);

/* --- arrays ------------------------------------------------------------------------------------------------------ */

typedef enum sectile_type {
  SECTILE_F32 = 0,
  SECTILE_F16 = 1,
  SECTILE_BF16 = 2,
  SECTILE_F8E4M3 = 3,
  SECTILE_F8E5M2 = 4,
  SECTILE_I32 = 5,
  SECTILE_I1 = 6 /* one byte, 0 or 1 */
} sectile_type;

#define SECTILE_MAX_RANK 6

/* The caller's memory: `data` is the address of element [0, ..., 0], strides count elements and may be 0 or negative.
 */
typedef struct sectile_array {
  void *data;
  int32_t type; /* a sectile_type */
  int32_t rank;
  int64_t sizes[SECTILE_MAX_RANK];
  int64_t strides[SECTILE_MAX_RANK];
} sectile_array;

/* --- sessions ---------------------------------------------------------------------------------------------------- */

/* A target with options, caches and a history. Safe to use from many threads; two sessions share nothing mutable. */
typedef struct sectile_session sectile_session;

/* As sectile::Options (Options.h says what is legal). Null strings count as empty. */
typedef struct sectile_options {
  size_t struct_size;
  const char *target;    /* "cpu", "interpret", "cuda", "cuda:<n>", "nvptx:<architecture>"...; empty: the best one */
  const char *cache;     /* a directory, "off", or empty: the user's cache directory */
  const char *dump;      /* directory[:kernel-glob] for every stage; empty: none */
  const char *overrides; /* a directory of edited stages; empty: none */
  int32_t autotune;      /* 0: off; others are refused in this version */
  int32_t log_level;     /* 0: errors, 1: warnings, 2: compilations and cache traffic, 3: every launch */
  int32_t threads;       /* that share a grid; 0: as many as the process may run on */
  /* Where log lines go, called one at a time from any thread; null: stderr. */
  void (*log)(void *log_user, int32_t level, const char *line);
  void *log_user;
} sectile_options;

/* The defaults, with `struct_size`, which is sizeof(sectile_options) of the caller's header. A size that is smaller
 * than the first version's or larger than this library's is refused, and nothing written; as for every such function.
 */
SECTILE_API sectile_status sectile_options_init(sectile_options *options, size_t struct_size, sectile_error **error);
SECTILE_API sectile_status sectile_session_create(const sectile_options *options, sectile_session **session,
                                                  sectile_error **error);
/* From SECTILE_TARGET, SECTILE_CACHE, SECTILE_DUMP, SECTILE_OVERRIDE, SECTILE_LOG and SECTILE_AUTOTUNE. */
SECTILE_API sectile_status sectile_session_create_from_environment(sectile_session **session, sectile_error **error);
/* Waits for nothing: no call may be using the session. Null is fine. */
SECTILE_API void sectile_session_free(sectile_session *session);

/* These strings live as long as the session. */
SECTILE_API const char *sectile_session_target(const sectile_session *session); /* with processor and features */
SECTILE_API const char *sectile_session_cache_location(const sectile_session *session); /* "memory" or a directory */
SECTILE_API int32_t sectile_session_threads(const sectile_session *session);

/* Totals since the session was made. */
typedef struct sectile_counters {
  uint64_t memory_hits, disk_hits, compilations, launches;
} sectile_counters;

SECTILE_API void sectile_session_counters(const sectile_session *session, sectile_counters *counters);

/* A copy of the history at one moment, oldest line first. */
typedef struct sectile_history sectile_history;

typedef enum sectile_source { SECTILE_FROM_MEMORY = 0, SECTILE_FROM_DISK = 1, SECTILE_COMPILED = 2 } sectile_source;

typedef struct sectile_launch_record {
  const char *kernel, *key;
  int32_t source;     /* a sectile_source */
  const char *reason; /* why it was not in memory; empty when it was */
  double compile_ms, load_ms;
  uint64_t launches; /* that this line stands for */
} sectile_launch_record;

SECTILE_API sectile_status sectile_session_history(const sectile_session *session, sectile_history **history,
                                                   sectile_error **error);
SECTILE_API size_t sectile_history_size(const sectile_history *history);
/* Strings in the record live as long as `history`. An index past the end gives zeros and empty strings. */
SECTILE_API void sectile_history_record(const sectile_history *history, size_t index, sectile_launch_record *record);
SECTILE_API void sectile_history_free(sectile_history *history);

/* --- attention --------------------------------------------------------------------------------------------------- */

#define SECTILE_BOTTOM_RIGHT 0
#define SECTILE_TOP_LEFT 1

/* As sectile::AttentionOptions (Attention.h defines the computation). */
typedef struct sectile_attention_options {
  size_t struct_size;
  int32_t has_scale; /* 0: scale is headDim^-0.5 */
  float scale;
  int32_t causal;
  int32_t alignment;    /* of causal and windows: SECTILE_BOTTOM_RIGHT or SECTILE_TOP_LEFT */
  int64_t window_left;  /* keys visible to the left of the diagonal, inclusive; -1: all */
  int64_t window_right; /* to the right */
  float softcap;        /* 0: none */
  float dropout;        /* probability in [0, 1) */
  uint64_t seed, offset;
  const sectile_array *alibi_slopes; /* f32, (headsQ) or (batch, headsQ); null: none, as for the next ones */
  const sectile_array *bias;         /* f32 or out's type, (batch, headsQ, seqlenQ, seqlenK) */
  const sectile_array *sink;         /* f32, (headsQ) */
  const sectile_array *key_lengths;  /* i32, (batch) */
  /* What the numbers of f8 tensors are multiplied by: f32, (1) or (batch, headsKv). */
  const sectile_array *query_scale, *key_scale, *value_scale;
} sectile_attention_options;

SECTILE_API sectile_status sectile_attention_options_init(sectile_attention_options *options, size_t struct_size,
                                                          sectile_error **error);

/* out = softmax(mask(scale q k^T)) v.
 *   stream: on a target of the host null; the result is complete when the call returns. On an NVIDIA GPU the caller's
 *           CUstream or cudaStream_t (null: the default stream), in which the work is queued; the arrays are in memory
 *           that the stream's device reaches
 *   q, k, v, out: (batch, seqlen, heads, headDim), f32, f16 or bf16, any strides; q, k, v may be of f8 (Attention.h)
 *   lse: f32, (batch, heads, seqlenQ), or null
 *   options: null for the defaults
 *   schedule: "blockM=64,blockN=128", or null for the target's choice */
SECTILE_API sectile_status sectile_attention_forward(sectile_session *session, void *stream, const sectile_array *q,
                                                     const sectile_array *k, const sectile_array *v,
                                                     const sectile_array *out, const sectile_array *lse,
                                                     const sectile_attention_options *options, const char *schedule,
                                                     sectile_error **error);

/* Whether dropout keeps the weight of (batch, head, query, key). */
SECTILE_API int32_t sectile_dropout_keeps(uint64_t seed, uint64_t offset, float dropout, int64_t batch, int64_t head,
                                          int64_t query, int64_t key);

/* --- executables ------------------------------------------------------------------------------------------------- */

/* An immutable compiled kernel. Outlives its session. */
typedef struct sectile_executable sectile_executable;

/* Compiles what sectile_attention_forward would run, without running it; `data` of the arrays may be null. */
SECTILE_API sectile_status sectile_prepare_attention_forward(sectile_session *session, const sectile_array *q,
                                                             const sectile_array *k, const sectile_array *v,
                                                             const sectile_array *out, const sectile_array *lse,
                                                             const sectile_attention_options *options,
                                                             const char *schedule, sectile_executable **executable,
                                                             sectile_error **error);
SECTILE_API void sectile_executable_free(sectile_executable *executable);

/* Strings live as long as the executable. */
SECTILE_API const char *sectile_executable_name(const sectile_executable *executable);
SECTILE_API const char *sectile_executable_key(const sectile_executable *executable);
SECTILE_API const char *sectile_executable_target(const sectile_executable *executable);
SECTILE_API const char *sectile_executable_schedule(const sectile_executable *executable);

/* One named form of the kernel on its way to the machine. `bytes` may hold zeros ("object"). */
typedef struct sectile_stage {
  const char *name, *file;
  const char *bytes;
  size_t size;
} sectile_stage;

SECTILE_API size_t sectile_executable_stage_count(const sectile_executable *executable);
/* An index past the end gives empty strings. */
SECTILE_API void sectile_executable_stage(const sectile_executable *executable, size_t index, sectile_stage *stage);
SECTILE_API size_t sectile_executable_resource_count(const sectile_executable *executable);
/* "scratch_bytes", "code_bytes", ... An index past the end gives an empty name and 0. */
SECTILE_API void sectile_executable_resource(const sectile_executable *executable, size_t index, const char **name,
                                             int64_t *value);

#ifdef __cplusplus
}
#endif

#endif /* SECTILE_SECTILE_H */
