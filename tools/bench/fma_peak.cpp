// The most that a processor's vector units can do: multiply-adds of f32 in registers, without a load or a store.
// cpu_attention.py takes it for a contender, so that a table says how much of the machine a figure is.
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr int chains = 16; ///< that do not wait for each other: twice what covers the latency of two units

#if defined(__x86_64__)

[[gnu::target("avx512f")]] float multiplyAdd16(int64_t count) {
  __m512 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 a = _mm512_set1_ps(0.5F), b = _mm512_set1_ps(1);
  for (int64_t i = 0; i < count; ++i)
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, a, b);
  float total = 0;
  for (const __m512 &sum : sums)
    total += _mm512_cvtss_f32(sum);
  return total;
}

[[gnu::target("avx2,fma")]] float multiplyAdd8(int64_t count) {
  __m256 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 a = _mm256_set1_ps(0.5F), b = _mm256_set1_ps(1);
  for (int64_t i = 0; i < count; ++i)
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, a, b);
  float total = 0;
  for (const __m256 &sum : sums)
    total += _mm256_cvtss_f32(sum);
  return total;
}

#endif

} // namespace

/// Runs `count` rounds in each of so many threads. The number of operations, two a multiply-add; 0 when the processor
/// has neither AVX-512 nor AVX2.
extern "C" double fma_peak_run(int threads, int64_t count) {
#if defined(__x86_64__)
  const bool wide = __builtin_cpu_supports("avx512f");
  if (!wide && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")))
    return 0;
  std::vector<float> results(static_cast<size_t>(threads)); // so that nothing is dead
  std::vector<std::thread> workers;
  for (float &result : results)
    workers.emplace_back([&result, wide, count] { result = wide ? multiplyAdd16(count) : multiplyAdd8(count); });
  for (std::thread &worker : workers)
    worker.join();
  return 2.0 * chains * (wide ? 16 : 8) * static_cast<double>(count) * threads;
#else
  (void)threads, (void)count;
  return 0;
#endif
}
