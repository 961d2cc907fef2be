/* kalstream in C: learners and streams for C, and for every language that can call C.
 *
 * Link libkalstream.so (`pkg-config --cflags --libs kalstream-c`). This header is plain C99 and
 * needs no other header of kalstream. docs/c-api.md has examples.
 *
 * Rules that hold for every function here:
 *
 * - Codes. Every function that can fail returns one of enum kalstream_code, 0 if all is well.
 *   After any other code kalstream_error() says in a sentence what was wrong, and outputs are as
 *   they were unless said otherwise. No C++ exception leaves a function; nothing is printed; no
 *   signal handler, environment variable or file is touched.
 * - Pointers. NULL where something is needed is KALSTREAM_INVALID, and no crash. A pointer may be
 *   NULL where the array it stands for has no elements, and where its comment says so.
 * - Sizes. Every array comes with the number of its elements, which must be the one expected:
 *   KALSTREAM_INVALID otherwise. Names, settings and JSON end with a zero byte; lines, keys and
 *   bytes come with their size and need none.
 * - Ownership. What a *_new, *_clone or *_load function makes belongs to the caller, who gives it
 *   back by the *_free function of its kind. Bytes and texts that come by an `unsigned char**` or
 *   `char**` belong to the caller, too: kalstream_free() gives them back. What comes by a `const`
 *   pointer stays the library's, and lives as long as the comment says. The library keeps no
 *   pointer of the caller's after a call.
 * - Threads. A handle is used by one thread at a time, any thread. Different handles can be used
 *   at the same time. A second thread that calls while the first is still inside gets
 *   KALSTREAM_BUSY (but one that frees the handle meanwhile is an error nobody can catch).
 *   Functions without a handle can be called by any number of threads.
 * - The same numbers. Results are those of the C++ library, the program and the Python package, to
 *   the last bit on the same vector unit of the processor.
 */
#ifndef KALSTREAM_KALSTREAM_H
#define KALSTREAM_KALSTREAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions and errors. */

/* Of this header. It grows when something is added; what is there stays as it is. */
#define KALSTREAM_ABI 1

enum kalstream_code {
  KALSTREAM_OK = 0,
  KALSTREAM_INVALID = 1,   /* an argument: NULL, a wrong size, a name or value that is not known */
  KALSTREAM_UNUSABLE = 2,  /* a number is not finite, or beyond 1e100: nothing has changed */
  KALSTREAM_SNAPSHOT = 3,  /* bytes that are no snapshot, a damaged one, or of a newer version */
  KALSTREAM_SCHEMA = 4,    /* a record has other fields than the stream that was learnt from */
  KALSTREAM_NOT_FOUND = 5, /* there is no model of this key */
  KALSTREAM_MEMORY = 6,    /* there is not enough of it */
  KALSTREAM_BUSY = 7,      /* another thread is using this handle */
  KALSTREAM_INTERNAL = 8   /* a mistake in kalstream; please report the message */
};

/* "0.3.0": of the library that runs. Lives for ever. */
const char* kalstream_version(void);

/* Whether the library that runs has all that this header, or another of version `abi`, promises:
 * kalstream_require_abi(KALSTREAM_ABI). KALSTREAM_INVALID if it is older, or `abi` is 0. */
int kalstream_require_abi(unsigned abi);

/* What the last call of this thread that failed had to say; "" before the first. Never NULL.
 * Lives until this thread's next call that fails. */
const char* kalstream_error(void);

/* Gives back bytes or a text that a function has returned. NULL is permitted. */
void kalstream_free(void* memory);

/* ---- What there is. */

/* All learners, with all their settings, as JSON, the default one first:
 * [{"name":"auto","meaning":"…","settings":[{"key","value","meaning","permitted"},…]},…] */
int kalstream_learners(char** json);

/* What a snapshot, the bytes of kalstream_learner_save or a checkpoint with one model hold, as
 * JSON: {"learner":"auto","samples":1000,"time_form":"…","fields":[{"name","role",…},…]}. Safe for
 * bytes from anywhere. KALSTREAM_SNAPSHOT unless they are sound. */
int kalstream_describe(const unsigned char* bytes, size_t size, char** json);

/* ---- Learners: numbers in, numbers out. */

/* A learner, and what goes along with it: intervals, surprise, forecasts of every lead. */
typedef struct kalstream_learner kalstream_learner;

enum kalstream_status {
  KALSTREAM_APPLIED = 0,             /* the weights were updated */
  KALSTREAM_GATED = 1,               /* the rule chose not to learn from this error */
  KALSTREAM_MISSING = 2,             /* no target: the state moved on, the weights stayed */
  KALSTREAM_REJECTED_INPUT = 3,      /* x or d cannot be used: no change */
  KALSTREAM_REJECTED_NON_FINITE = 4, /* the update would have overflowed: the weights stayed */
  KALSTREAM_REJECTED_COVARIANCE = 5  /* the filter refused the update: the weights stayed */
};

/* What one step did. Set `size` to sizeof(kalstream_report) before the call: a library that knows
 * another size answers KALSTREAM_INVALID and does nothing. */
typedef struct kalstream_report {
  size_t size;
  int32_t status;    /* enum kalstream_status; of a mixture: of the expert that did the most */
  int32_t reserved;  /* 0 */
  uint64_t experts;  /* how many networks took the step … */
  uint64_t applied;  /* … how many of them updated … */
  uint64_t rejected; /* … and how many updates were rejected */
  double covariance_trace; /* of all covariances together; 0 without one */
} kalstream_report;

/* A learner by name ("auto", "alg2", "ekf", "rls", …; NULL: "auto") for so many inputs (0 or more)
 * and outputs (1 or more). `settings` are keys and values in turn, and then NULL:
 *
 *     const char* settings[] = {"hidden", "32", "interval", "0.9", NULL};
 *
 * NULL: none. There are those of the learner (kalstream_learners, `kalstream inspect --learner`),
 * and for every one
 *
 *     seed      of the random start; 1
 *     scaled    true: inputs and targets are standardised as they come; false: taken as they are.
 *               true; "auto" and baselines do so anyway
 *     interval  bounds around predictions that hold this part of the targets, e.g. 0.9; none
 *     surprise  true: how strange targets are can be asked; false
 *     horizon   forecasts are learnt for each of so many samples ahead, 1 to 1000; none: step by
 * step
 *
 * KALSTREAM_MEMORY if it would need more than nine tenths of the machine's memory. */
int kalstream_learner_new(const char* name, size_t inputs, size_t outputs,
                          const char* const* settings, kalstream_learner** learner);

/* NULL is permitted. */
void kalstream_learner_free(kalstream_learner* learner);

/* An independent copy, with all it has learnt. */
int kalstream_learner_clone(kalstream_learner* learner, kalstream_learner** copy);

/* Back to the state after it was made. */
int kalstream_learner_reset(kalstream_learner* learner);

/* How wide it is, and how many samples it has learnt or advanced to. Any of the pointers but the
 * first may be NULL. */
int kalstream_learner_size(kalstream_learner* learner, size_t* inputs, size_t* outputs,
                           uint64_t* samples);

/* The prediction for input x, into d_hat. Has no effect on what any later call returns.
 * KALSTREAM_UNUSABLE if a number of x cannot be used: d_hat is then all NaN. */
int kalstream_learner_predict(kalstream_learner* learner, const double* x, size_t inputs,
                              double* d_hat, size_t outputs);

/* The same with bounds, for a learner with the setting `interval`; low[k] and high[k] are NaN
 * before ten targets are known. d_hat may be NULL. */
int kalstream_learner_interval(kalstream_learner* learner, const double* x, size_t inputs,
                               double* d_hat, double* low, double* high, size_t outputs);

/* How strange the target d of input x would be, for a learner with the setting `surprise`: the
 * probability of a value at least so far off, for each output, into p; NaN before ten targets are
 * known. Ask before learn. Has no effect on what any later call returns. */
int kalstream_learner_surprise(kalstream_learner* learner, const double* x, size_t inputs,
                               const double* d, double* p, size_t outputs);

/* Moves on to x and learns its target d. `report` may be NULL. KALSTREAM_UNUSABLE, the report
 * written and the learner as it was, if a number cannot be used; an update that is rejected is
 * KALSTREAM_OK, and the report tells. */
int kalstream_learner_learn(kalstream_learner* learner, const double* x, size_t inputs,
                            const double* d, size_t outputs, kalstream_report* report);

/* Moves on to x without a target. */
int kalstream_learner_advance(kalstream_learner* learner, const double* x, size_t inputs,
                              kalstream_report* report);

/* Moves on to x, whose target was d, without learning from it: d is only remembered where past
 * targets are inputs. For learners that shall stay as they are. */
int kalstream_learner_observe(kalstream_learner* learner, const double* x, size_t inputs,
                              const double* d, size_t outputs, kalstream_report* report);

/* The next `horizon` samples, whose inputs are the rows of `future`, horizon × inputs numbers
 * (`future_size` of them): into d_hat, horizon × outputs numbers (`size` of them). With the
 * setting `horizon`, no more than that many, and low and high get bounds if there is `interval`,
 * too; else, and if they are not wanted, they are NULL. Learns nothing. KALSTREAM_UNUSABLE, and
 * nothing written, if a number of `future` cannot be used. */
int kalstream_learner_forecast(kalstream_learner* learner, size_t horizon, const double* future,
                               size_t future_size, double* d_hat, double* low, double* high,
                               size_t size);

/* The stream repeats itself after so many samples, the shortest period first; none: it does not,
 * and no period shall be looked for. For learners that know of seasons; the sooner the better. */
int kalstream_learner_expect_periods(kalstream_learner* learner, const double* samples,
                                     size_t count);

/* How many experts the learner mixes; 0 if it mixes none. */
int kalstream_learner_experts(kalstream_learner* learner, size_t* experts);

/* How much each of them counts now, together 1. */
int kalstream_learner_weights(kalstream_learner* learner, double* weights, size_t experts);

/* The name of the expert, counted from 0. Lives as long as the learner. */
int kalstream_learner_expert_name(kalstream_learner* learner, size_t expert, const char** name);

/* The learner alone as bytes, without intervals, surprise and forecasts of leads: a snapshot that
 * the program, C++ and Python read as well (docs/snapshots.md). */
int kalstream_learner_snapshot(kalstream_learner* learner, unsigned char** bytes, size_t* size);

/* All that the handle knows, for kalstream_learner_load: it goes on to the same bits. */
int kalstream_learner_save(kalstream_learner* learner, unsigned char** bytes, size_t* size);

/* A learner from what kalstream_learner_save gave, from a snapshot, or from a checkpoint with one
 * model. `settings` as for kalstream_learner_new, of the second list without seed and scaled, for
 * bytes that hold a learner alone; NULL: none. Safe for bytes from anywhere. */
int kalstream_learner_load(const unsigned char* bytes, size_t size, const char* const* settings,
                           kalstream_learner** learner);

/* ---- Streams: records in, answers out. */

/* What `kalstream stream` is, without files and pipes: the first record tells which field is what;
 * one model, or one for every key; targets that come late; time; missing values. */
typedef struct kalstream_stream kalstream_stream;

/* How answers are written. */
enum kalstream_answers {
  KALSTREAM_AS_RECORDS = 0, /* as the records are */
  KALSTREAM_JSON = 1,
  KALSTREAM_CSV = 2
};

/* A stream of these settings, a JSON object of the options that `kalstream stream` has for what is
 * learnt: {"target":"load","learner":"auto","interval":0.9,"horizon":24}. NULL: none. Models are in
 * memory until they are forgotten. */
int kalstream_stream_new(const char* settings, int answers, kalstream_stream** stream);

/* NULL is permitted. */
void kalstream_stream_free(kalstream_stream* stream);

/* Takes a record, a line of JSON or of delimited text such as CSV, with or without its end, at
 * most 1 MiB. The answer, a line without its end as `kalstream stream` writes it, lives until the
 * next call with this stream, and ends with a zero byte that does not count. *answer is NULL where
 * a line says nothing (blank, a comment, a header). In CSV the first answer comes after a line
 * with the names of its columns. A line that cannot be used is answered with status "refused" and
 * the reason, which in CSV is among the remarks; that is KALSTREAM_OK.
 * KALSTREAM_INVALID: no learner can be made for the stream that the first record shows.
 * KALSTREAM_SCHEMA: it is not the stream that was learnt from before. */
int kalstream_stream_take(kalstream_stream* stream, const char* line, size_t length,
                          const char** answer, size_t* answer_length);

/* Learns what the last record has brought. Every other call does so first; apart from it, so that
 * the answer can go out before the time this takes. */
int kalstream_stream_learn(kalstream_stream* stream);

/* What people should know since the last call, a line each; "" if there is nothing. */
int kalstream_stream_remarks(kalstream_stream* stream, char** text);

/* Which field is what, as JSON: {"time_form":"…","fields":[{"name","role",…},…]}; without any field
 * before the first record has told. */
int kalstream_stream_schema(kalstream_stream* stream, char** json);

/* What was counted and how good it was, as JSON: {"records":…,"refused":…,"samples":…,"learnt":…,
 * "missing":…,"late":…,"repeated":…,"anomalies":…,"models":…,"nse":…,"nse_recent":…,
 * "coverage":…}; a number that is not known yet is null. */
int kalstream_stream_status(kalstream_stream* stream, char** json);

/* The model of a key as bytes; of the only model where there are no keys: key_length 0.
 * KALSTREAM_NOT_FOUND if there is none. */
int kalstream_stream_state_of(kalstream_stream* stream, const char* key, size_t key_length,
                              unsigned char** bytes, size_t* size);

/* From now on the key's model is that of these bytes: of kalstream_stream_state_of, or a snapshot
 * of a learner. A record must have come before. KALSTREAM_SNAPSHOT, and all stays as it was, if
 * they are not for this stream. */
int kalstream_stream_put_state(kalstream_stream* stream, const char* key, size_t key_length,
                               const unsigned char* bytes, size_t size);

/* As if the key had never come. KALSTREAM_NOT_FOUND if it has not. */
int kalstream_stream_forget(kalstream_stream* stream, const char* key, size_t key_length);

/* The whole stream, all models included, as bytes to go on from. */
int kalstream_stream_checkpoint(kalstream_stream* stream, unsigned char** bytes, size_t* size);

/* Goes on from them, before the first record, with the settings of then; also from the file of
 * `kalstream stream --checkpoint`. After a failure the stream can only be freed. */
int kalstream_stream_resume(kalstream_stream* stream, const unsigned char* bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
