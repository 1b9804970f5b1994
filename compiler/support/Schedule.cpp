// A schedule as text. One table names the fields; everything else follows from it.
#include "compiler/support/ScheduleFields.h"

#include "sectile/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace sectile;

static constexpr ScheduleField table[] = {
    {"blockM", offsetof(Schedule, blockM), 4096, ""},
    {"blockN", offsetof(Schedule, blockN), 4096, ""},
    {"order", offsetof(Schedule, order), 3, "heads, longest, paired"},
    {"warps", offsetof(Schedule, warps), 32, ""},
    {"stages", offsetof(Schedule, stages), 8, ""},
    {"specialize", offsetof(Schedule, specialize), 2, "none, producer"},
    {"overlap", offsetof(Schedule, overlap), 2, "none, softmax"},
    {"softmax", offsetof(Schedule, softmax), 2, "exact, stale"},
    {"persistent", offsetof(Schedule, persistent), 2, "off, static"},
    {"registers", offsetof(Schedule, registers), 240, ""},
    {"threads", offsetof(Schedule, threads), 4096, ""},
    {"vectorWidth", offsetof(Schedule, vectorWidth), 16, ""},
};
static_assert(sizeof(Schedule) == std::size(table) * sizeof(int32_t), "the table lists every field");

llvm::ArrayRef<ScheduleField> sectile::scheduleFields() { return table; }

//===-- one field -------------------------------------------------------------------------------------------------===//

int32_t ScheduleField::of(const Schedule &schedule) const {
  int32_t value;
  std::memcpy(&value, reinterpret_cast<const char *>(&schedule) + offset, sizeof value);
  return value;
}

void ScheduleField::set(Schedule &schedule, int32_t value) const {
  std::memcpy(reinterpret_cast<char *>(&schedule) + offset, &value, sizeof value);
}

static llvm::SmallVector<llvm::StringRef> split(llvm::StringRef values) {
  llvm::SmallVector<llvm::StringRef> names;
  values.split(names, ", ");
  return names;
}

std::string ScheduleField::text(int32_t value) const {
  if (values.empty() || value < 1 || value > most)
    return std::to_string(value);
  return split(values)[static_cast<size_t>(value) - 1].str();
}

std::optional<int32_t> ScheduleField::parse(llvm::StringRef text) const {
  if (!values.empty()) {
    const auto names = split(values);
    const auto *found = llvm::find(names, text);
    return found == names.end() ? std::nullopt : std::optional(static_cast<int32_t>(found - names.begin()) + 1);
  }
  int32_t number = 0;
  if (text.getAsInteger(10, number) || number < 0 || number > most)
    return std::nullopt;
  return number;
}

std::string ScheduleField::legal() const {
  if (values.empty())
    return "1 to " + std::to_string(most);
  return llvm::join(split(values), " or ");
}

//===-- all of them -----------------------------------------------------------------------------------------------===//

std::string sectile::toString(const Schedule &schedule) {
  std::string text;
  for (const ScheduleField &field : table)
    if (const int32_t value = field.of(schedule)) {
      if (!text.empty())
        text += ',';
      text += field.name.str() + '=' + field.text(value);
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
    const ScheduleField *field = llvm::find_if(table, [&, n = name](const auto &f) { return f.name == n.trim(); });
    if (field == std::end(table))
      throw UserError("schedule '" + std::string(text) + "': there is no field '" + name.str() + "'; fields are " +
                      llvm::join(llvm::map_range(table, [](const auto &f) { return f.name.str(); }), ", ") +
                      ", each as name=value, separated by commas");
    if (seen >> (field - table) & 1)
      throw UserError("schedule '" + std::string(text) + "': field '" + field->name.str() + "' is given twice");
    seen |= 1u << (field - table);
    const std::optional<int32_t> parsed = field->parse(value.trim());
    if (!parsed)
      throw UserError("schedule '" + std::string(text) + "': field '" + field->name.str() + "' needs " +
                      (field->values.empty()
                           ? "a whole number from 0 (chosen by the target) to " + std::to_string(field->most)
                           : field->legal()) +
                      ", got '" + value.str() + "'");
    field->set(schedule, *parsed);
  }
  return schedule;
}
