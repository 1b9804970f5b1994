// A schedule as text. One table names the fields; everything else follows from it.
#include "sectile/Schedule.h"

#include "sectile/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sectile;

namespace {
struct Field {
  llvm::StringLiteral name;
  int32_t Schedule::*member;
  int32_t most;
};
} // namespace

static constexpr Field fields[] = {{"blockM", &Schedule::blockM, 4096},   {"blockN", &Schedule::blockN, 4096},
                                   {"warps", &Schedule::warps, 32},       {"stages", &Schedule::stages, 8},
                                   {"threads", &Schedule::threads, 4096}, {"vectorWidth", &Schedule::vectorWidth, 16}};
static_assert(sizeof(Schedule) == std::size(fields) * sizeof(int32_t), "the table lists every field");

std::string sectile::toString(const Schedule &schedule) {
  std::string text;
  for (const Field &field : fields)
    if (int32_t value = schedule.*field.member) {
      if (!text.empty())
        text += ',';
      text += field.name.str() + '=' + std::to_string(value);
    }
  return text;
}

Schedule sectile::parseSchedule(std::string_view text) {
  Schedule schedule;
  llvm::SmallVector<llvm::StringRef> items;
  llvm::StringRef(text.data(), text.size()).split(items, ',', -1, /*KeepEmpty=*/!text.empty());
  unsigned seen = 0;
  for (llvm::StringRef item : items) {
    auto [name, value] = item.split('=');
    const Field *field = llvm::find_if(fields, [&, n = name](const Field &f) { return f.name == n.trim(); });
    if (field == std::end(fields))
      throw UserError("schedule '" + std::string(text) + "': there is no field '" + name.str() + "'; fields are " +
                      llvm::join(llvm::map_range(fields, [](const Field &f) { return f.name.str(); }), ", ") +
                      ", each as name=value, separated by commas");
    if (seen >> (field - fields) & 1)
      throw UserError("schedule '" + std::string(text) + "': field '" + field->name.str() + "' is given twice");
    seen |= 1u << (field - fields);
    int32_t number = 0;
    if (value.trim().getAsInteger(10, number) || number < 0 || number > field->most)
      throw UserError("schedule '" + std::string(text) + "': field '" + field->name.str() +
                      "' needs a whole number from 0 (chosen by the target) to " + std::to_string(field->most) +
                      ", got '" + value.str() + "'");
    schedule.*field->member = number;
  }
  return schedule;
}
