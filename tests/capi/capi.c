/* The C interface from C: one query, two keys, against the formula. */
#include "sectile/sectile.h"

#include <math.h>
#include <stdio.h>

static sectile_array dense(void *data, int64_t seqlen, int64_t dim) {
  sectile_array array = {NULL, SECTILE_F32, 4, {0}, {0}};
  array.data = data;
  array.sizes[0] = 1, array.sizes[1] = seqlen, array.sizes[2] = 1, array.sizes[3] = dim;
  array.strides[0] = seqlen * dim, array.strides[1] = dim, array.strides[2] = dim, array.strides[3] = 1;
  return array;
}

int main(void) {
  float q[2] = {1, 0}, k[4] = {1, 0, 0, 1}, v[4] = {1, 2, 3, 4}, out[2] = {0, 0};
  sectile_array qArray = dense(q, 1, 2), kArray = dense(k, 2, 2), vArray = dense(v, 2, 2), outArray = dense(out, 1, 2);
  sectile_attention_options options;
  sectile_session *session;
  sectile_error *error = NULL;
  if (sectile_session_create_from_environment(&session, &error) != SECTILE_OK ||
      sectile_attention_options_init(&options, sizeof options, &error) != SECTILE_OK ||
      sectile_attention_forward(session, NULL, &qArray, &kArray, &vArray, &outArray, NULL, &options, NULL, &error) !=
          SECTILE_OK) {
    fprintf(stderr, "%s\n", sectile_error_message(error));
    sectile_error_free(error);
    return 1;
  }
  /* scores: 1/sqrt(2) and 0 */
  const double weight = exp(1 / sqrt(2.0)) / (exp(1 / sqrt(2.0)) + 1);
  const double expected[2] = {weight * 1 + (1 - weight) * 3, weight * 2 + (1 - weight) * 4};
  printf("%s on %s: %f %f, expected %f %f\n", sectile_version(), sectile_session_target(session), out[0], out[1],
         expected[0], expected[1]);
  sectile_session_free(session);
  return fabs(out[0] - expected[0]) > 1e-5 || fabs(out[1] - expected[1]) > 1e-5;
}
