// On a device: long sequences against the naive CUDA kernel, which is first held against the host's reference there.
#include "kernels/reference/cuda/Nvrtc.h"
#include "kernels/reference/cuda/Oracle.h"
#include "tests/attention/Trial.h"
#include "tests/support/CudaDevice.h"
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace sectile;
using namespace sectile::test;

namespace {

bool hasOracle() {
  if (!isCudaTarget(targetUnderTest()))
    return false;
  const std::string why = reference::oracle::whyNoNvrtc();
  if (!why.empty())
    WARN("not run: " << why);
  return why.empty();
}

const CudaDevice::Function &oracle() {
  static const CudaDevice::Function function(
      [] {
        const auto [major, minor] = CudaDevice::get().capability();
        return reference::oracle::compileOracle("sm_" + std::to_string(major) + std::to_string(minor));
      }(),
      reference::oracle::oracleEntry, reference::oracle::oracleThreads, 0);
  return function;
}

/// The trial's problem by the naive kernel. Its options' arrays are not moved: they are none here.
reference::AttentionResult naiveKernel(const Trial &trial, std::optional<Type> rounding) {
  const TargetMemory memory(targetUnderTest(), {trial.q, trial.k, trial.v});
  auto call = reference::oracle::describeCall(memory.resident(trial.q), memory.resident(trial.k),
                                              memory.resident(trial.v), trial.options, rounding);
  reference::AttentionResult result;
  result.out.resize(call.batch * call.seqlenQ * call.heads * call.headDimV);
  result.lse.resize(call.batch * call.heads * call.seqlenQ);
  CudaDevice &device = CudaDevice::get();
  const auto out = device.allocate(result.out.size() * sizeof(double)),
             lse = device.allocate(result.lse.size() * sizeof(double));
  call.out = reinterpret_cast<double *>(out);
  call.lse = reinterpret_cast<double *>(lse);
  static_assert(sizeof call % sizeof(int64_t) == 0);
  oracle().launch(static_cast<unsigned>(result.lse.size()),
                  {reinterpret_cast<const int64_t *>(&call), sizeof call / sizeof(int64_t)});
  device.download(result.out.data(), out, result.out.size() * sizeof(double));
  device.download(result.lse.data(), lse, result.lse.size() * sizeof(double));
  device.free(out);
  device.free(lse);
  return result;
}

void checkByOracle(Trial &trial) {
  trial.run();
  const reference::Verdict verdict = reference::judge(trial.out, trial.lse.view(), naiveKernel(trial, std::nullopt),
                                                      naiveKernel(trial, trial.out.view().type));
  INFO("worst: " << verdict.worst);
  INFO("bound = 2 * " << verdict.naiveError << " (naive error) + 1e-5");
  CHECK(verdict.error <= verdict.bound());
  CHECK(verdict.lseError <= reference::Verdict::lseBound);
  CHECK(trial.out.guardsIntact());
  CHECK(trial.lse.guardsIntact());
}

} // namespace

TEST_CASE("the naive CUDA kernel on the device computes what the host's reference does") {
  if (!hasOracle())
    return;
  for (const Type type : {Type::f32, Type::f16, Type::bf16})
    for (const bool causal : {false, true}) {
      Trial trial({.type = type, .batch = 2, .seqlenQ = 19, .seqlenK = 150, .heads = 4, .headsKv = 2, .headDimV = 200});
      trial.options.causal = causal;
      trial.options.softcap = causal ? 3 : 0;
      trial.options.dropout = causal ? 0 : 0.3f;
      trial.options.windowLeft = causal ? 70 : -1;
      const auto got = naiveKernel(trial, std::nullopt);
      const auto expected = reference::attention(trial.q, trial.k, trial.v, trial.options);
      double difference = 0;
      for (size_t i = 0; i < got.out.size(); ++i)
        difference = std::max(difference, std::abs(got.out[i] - expected.out[i]));
      for (size_t i = 0; i < got.lse.size(); ++i)
        difference = std::max(difference, std::abs(got.lse[i] - expected.lse[i]));
      INFO(typeName(type) << (causal ? " causal" : ""));
      CHECK(difference < 1e-6); // the scale is of f32 here
    }
}

TEST_CASE("long sequences agree with the naive CUDA kernel") {
  if (!hasOracle())
    return;
  for (const Type type : {Type::bf16, Type::f16})
    for (const int64_t headDim : {64, 128, 256})
      for (const bool causal : {false, true})
        for (const auto &[seqlenQ, seqlenK] : {std::pair<int64_t, int64_t>{1024, 1024}, {777, 2011}}) {
          const Shape shape{.type = type,
                            .seqlenQ = seqlenQ,
                            .seqlenK = seqlenK,
                            .heads = 4,
                            .headsKv = 2,
                            .headDim = headDim,
                            .headDimV = headDim};
          Trial trial(shape);
          trial.options.causal = causal;
          INFO(describe(shape, trial.options, trial.schedule));
          checkByOracle(trial);
        }
}

TEST_CASE("long sequences with windows, softcap and dropout agree with the naive CUDA kernel") {
  if (!hasOracle())
    return;
  const Shape shape{.type = Type::bf16,
                    .batch = 2,
                    .seqlenQ = 700,
                    .seqlenK = 1500,
                    .heads = 3,
                    .headsKv = 1,
                    .headDim = 128,
                    .headDimV = 128};
  for (int option = 0; option < 4; ++option) {
    Trial trial(shape, option);
    switch (option) {
    case 0:
      trial.options.windowLeft = 300;
      trial.options.windowRight = 20;
      break;
    case 1:
      trial.options.softcap = 2;
      break;
    case 2:
      trial.options.dropout = 0.2f;
      trial.options.seed = 12345678901234;
      break;
    default:
      trial.options.causal = true;
      trial.options.alignment = MaskAlignment::topLeft;
      trial.options.scale = 0.25f;
    }
    INFO(describe(shape, trial.options, trial.schedule));
    checkByOracle(trial);
  }
}
