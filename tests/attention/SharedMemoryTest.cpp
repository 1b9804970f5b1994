// The default schedules fit GPUs with little shared memory, and others are refused with the numbers. No GPU is needed.
#include "sectile/Attention.h"
#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace sectile;
using Catch::Contains;

namespace {

std::shared_ptr<const Executable> compiled(const std::string &target, Type type, const AttentionOptions &options = {},
                                           const Schedule &schedule = {}) {
  Options session;
  session.target = target;
  session.cache = "off";
  session.toolkit = "none";
  session.cudaDriver = "/nowhere/libcuda.so.1";
  Session compiler(session);
  const ArrayView array(nullptr, type, {1, 2048, 16, 128}), lse(nullptr, Type::f32, {1, 16, 2048});
  return prepareAttentionForward(compiler, array, array, array, array, lse, options, schedule);
}

int64_t sharedBytes(const Executable &executable) {
  const Resources &resources = executable.resources();
  return std::ranges::find(resources, "shared_bytes", &Resources::value_type::first)->second;
}

} // namespace

TEST_CASE("A25 pytorch#133254: the default schedule fits the 100 KB of shared memory of sm_89") {
  for (const auto &[target, most] : {std::pair{"nvptx:sm_89", 101376}, {"nvptx:sm_86", 101376}, {"nvptx:sm_75", 65536}})
    for (const Type type : {Type::f32, Type::bf16})
      for (const bool causal : {false, true}) {
        AttentionOptions options;
        options.causal = causal;
        const auto executable = compiled(target, type, options);
        INFO(target << ' ' << typeName(type) << (causal ? " causal " : " ") << toString(executable->schedule()));
        CHECK(sharedBytes(*executable) > 0);
        CHECK(sharedBytes(*executable) <= most);
      }
}

TEST_CASE("A25: a schedule that does not fit is refused with the numbers") {
  const Schedule large{.blockM = 128, .blockN = 128, .warps = 8, .stages = 2};
  for (const Type type : {Type::f32, Type::bf16}) {
    INFO(typeName(type));
    CHECK_THROWS_AS(compiled("nvptx:sm_89", type, {}, large), UserError);
    CHECK_THROWS_WITH(compiled("nvptx:sm_89", type, {}, large),
                      Contains("attention_forward") && Contains("blockM=128,blockN=128,order=heads,warps=8,stages=2") &&
                          Contains(" bytes of shared memory") && Contains("sm_89 allows 101376"));
  }
  CHECK(sharedBytes(*compiled("nvptx:sm_90a", Type::bf16, {}, large)) > 101376); // which has 227 KB
}
