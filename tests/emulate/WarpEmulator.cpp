#include "tests/emulate/WarpEmulator.h"

#include "tests/emulate/HostCode.h"
#include "tests/support/Arguments.h"

#include "sectile/Error.h"

#include <algorithm>
#include <cstring>

using namespace sectile;
using namespace sectile::warps;

BlockProgram::BlockProgram(const std::string &llvmStage) : code(std::make_unique<HostCode>(llvmStage)) {}
BlockProgram::BlockProgram(BlockProgram &&) noexcept = default;
BlockProgram::~BlockProgram() = default;

void BlockProgram::launch(std::span<const Argument> arguments, Grid grid) const {
  std::vector<int64_t> words = test::packArguments(arguments);
  words.insert(words.end(), {grid.x, grid.y, grid.z});
  // Tensor maps come first.
  struct alignas(EncodedTensorMap) Piece {
    char bytes[sizeof(EncodedTensorMap)];
  };
  const size_t maps = code->tensorMaps().size(), bytes = words.size() * sizeof(int64_t);
  std::vector<Piece> parameter(maps + (bytes + sizeof(Piece) - 1) / sizeof(Piece));
  for (size_t i = 0; i < maps; ++i) {
    const TensorMapRequest &request = code->tensorMaps()[i];
    const auto *view =
        request.argument < arguments.size() ? std::get_if<ArrayView>(&arguments[request.argument]) : nullptr;
    if (!view)
      throw InternalError("the kernel wants a tensor map of argument " + std::to_string(request.argument) +
                          ", which is no array");
    const EncodedTensorMap map(*view, request.rows, request.columns, request.swizzle);
    std::memcpy(&parameter[i], &map, sizeof map);
  }
  std::memcpy(&parameter[maps], words.data(), bytes);
  // Blocks that stay run several programs each.
  constexpr int64_t fewBlocks = 2;
  const int64_t programs = grid.x * grid.y * grid.z;
  runBlocks(code->isPersistent() ? std::min(programs, fewBlocks) : programs, parameter.data());
}

void BlockProgram::launch(int64_t blocks, const std::vector<int64_t> &words) const {
  if (!code->tensorMaps().empty())
    throw InternalError("the kernel wants tensor maps: launch it with its arguments");
  runBlocks(blocks, words.data());
}

void BlockProgram::runBlocks(int64_t blocks, const void *parameter) const {
  const BlockShape shape{code->threads(), code->sharedBytes(), code->registers(), [&] { code->run(parameter); }};
  Block block(shape, code->shared());
  code->setBlock(&block);
  std::mt19937 random(1); // a failure can be repeated
  for (int64_t i = 0; i < blocks; ++i)
    block.run(i, blocks, random);
  code->setBlock(nullptr);
}
