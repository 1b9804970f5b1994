// The example of block.specialize (compiler/ir/BlockAsync.td) all the way: lowered, and run.
#include "tests/emulate/WarpEmulator.h"

#include "compiler/ir/Tile.h"
#include "compiler/support/Float.h"
#include "compiler/targets/Pipelines.h"
#include "compiler/targets/nvptx/Pipeline.h"
#include "compiler/transforms/Passes.h"

#include "sectile/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::warps;
using Catch::Matchers::Contains;

namespace {

const std::string wait = "%next = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #acc>>\n",
                  release = "block.release %kRing[%j] : !ring\n";

std::string products(const std::string &end) {
  return R"(
#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                     warp = [[16, 0], [32, 0]]>
!one = !block.shared<1x64x64xbf16, step = 1, span = 8>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @products(%q: !tile.view<2xbf16> {tile.bulk}, %k: !tile.view<2xbf16> {tile.bulk},
                       %out: !tile.view<2xf32>, %n: i32) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %qRing = block.alloc : !one
  %kRing = block.alloc : !ring
  block.specialize roles ["producer", "consumer"] warps [4, 4] registers [24, 232] {
    block.acquire %qRing[%c0] : !one
    block.copy_bulk %q[%c0, %c0] -> %qRing[%c0] : !tile.view<2xbf16> -> !one
    scf.for %j = %c0 to %n step %c1 : i32 {
      %row = arith.muli %j, %c64 : i32
      block.acquire %kRing[%j] : !ring
      block.copy_bulk %k[%row, %c0] -> %kRing[%j] : !tile.view<2xbf16> -> !ring
    }
  }, {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
    %Q = block.wait_full %qRing[%c0] : !one -> !stage
    %all = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32, #acc>) : i32 {
      %K = block.wait_full %kRing[%j] : !ring -> !stage
      %t = block.dot_async %Q, %K, %sum {transposed_b} : !stage, !stage, tensor<64x64xf32, #acc>
)" + end +
         R"(
      scf.yield %next : tensor<64x64xf32, #acc>
    }
    block.release %qRing[%c0] : !one
    tile.store %all, %out[%c0, %c0] : tensor<64x64xf32, #acc>, !tile.view<2xf32>
  }
  block.return
}
)";
}

std::string lowered(const std::string &text) {
  mlir::DialectRegistry registry;
  ir::registerTileDialects(registry);
  registerTargetDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  REQUIRE(module);
  mlir::PassManager passes(&context);
  const Target target = llvm::cantFail(resolveTarget("nvptx:sm_90a", "none"));
  passes.addPass(createPlanShared({.limit = target.nvidia.sharedPerBlock}));
  nvptx::buildBlockToLlvm(passes, {target, {}});
  REQUIRE(mlir::succeeded(passes.run(*module)));
  std::string result;
  llvm::raw_string_ostream(result) << *module;
  return result;
}

/// The largest error of the sum over blocks of 64 keys of q * k, and what the kernel writes outside of its result.
float error(const std::string &kernel, int64_t queries, int64_t keys) {
  constexpr int64_t tile = 64;
  std::vector<uint16_t> q(queries * tile), k(keys * tile);
  const auto number = [](int64_t i) { return static_cast<float>(i * 7 % 17 - 8) / 8; };
  for (std::vector<uint16_t> *matrix : {&q, &k})
    for (size_t i = 0; i < matrix->size(); ++i)
      (*matrix)[i] = static_cast<uint16_t>(encode<bf16>(number(static_cast<int64_t>(i) * (matrix == &q ? 3 : 5))));
  std::vector<float> out(queries * tile, -1);
  const int64_t blocks = (keys + tile - 1) / tile;
  const Argument arguments[] = {ArrayView(q.data(), Type::bf16, {queries, tile}),
                                ArrayView(k.data(), Type::bf16, {keys, tile}),
                                ArrayView(out.data(), Type::f32, {queries, tile}), static_cast<int32_t>(blocks)};
  BlockProgram(lowered(kernel)).launch(arguments, {});
  float largest = 0;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < tile; ++j) {
      float sum = 0; // exact: multiples of 1/64
      for (int64_t row = j; row < keys; row += tile)
        for (int64_t p = 0; p < tile; ++p)
          sum += decode<bf16>(q[i * tile + p]) * decode<bf16>(k[row * tile + p]);
      largest = std::max(largest, std::fabs(out[i * tile + j] - sum));
    }
  return largest;
}

} // namespace

TEST_CASE("warps that copy and warps that multiply") {
  CHECK(error(products(wait + release), 64, 64) == 0);
  CHECK(error(products(wait + release), 64, 320) == 0);
  CHECK(error(products(wait + release), 37, 333) == 0); // past the end: zeros
}

TEST_CASE("a stage that is released too early, or never") {
  CHECK_THROWS_WITH(error(products(release + wait), 64, 320), Contains("was written before wgmma.wait_group says"));
  CHECK_THROWS_WITH(error(products(wait), 64, 320), Contains("no thread can go on"));
}
