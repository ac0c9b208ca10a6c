// SPDX-License-Identifier: Apache-2.0
// The page beside the catalogue states for each mistake what the doctor can do.
#include "traces/analysis/mistakes/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "tests/support/places.h"
#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {
namespace {

/// Returns the last column of the page's table by the mistake in the first column.
std::map<std::string, std::string> lastColumns() {
  std::ifstream page(test::inSources("traces/analysis/mistakes/README.md"));
  std::map<std::string, std::string> columns;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `") || !line.ends_with(" |")) continue;
    const std::size_t last = line.rfind("| ", line.size() - 3) + 2;
    columns[line.substr(3, line.find('`', 3) - 3)] = line.substr(last, line.size() - 2 - last);
  }
  return columns;
}

TEST(CatalogueTest, ThePageHasARowForEachMistakeAndSaysWhichOnesTheDoctorNames) {
  const auto columns = lastColumns();
  EXPECT_EQ(columns.size(), mistakeCatalogue().size());
  for (const Mistake& mistake : mistakeCatalogue()) {
    const auto row = columns.find(mistake.id);
    ASSERT_NE(row, columns.end()) << mistake.id;
    const bool has_rule =
        std::ranges::any_of(rules(), [&](const Rule& rule) { return rule.id == mistake.id; });
    EXPECT_EQ(row->second == "named", has_rule) << mistake.id << ": " << row->second;
  }
}

/// Returns the names of mistakes in the lines of the page's index.
std::multiset<std::string> indexed() {
  std::ifstream page(test::inSources("traces/analysis/mistakes/README.md"));
  std::multiset<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) inside = line == "## Index by layer and object";
    if (!inside || !line.starts_with("| ")) continue;
    EXPECT_EQ(std::ranges::count(line, '|'), 8) << line;
    EXPECT_EQ(line.find("|  |"), std::string::npos) << "a gap is marked: " << line;
    for (std::size_t at = line.find('`'); at != std::string::npos; at = line.find('`', at + 1)) {
      const std::size_t end = line.find('`', at + 1);
      names.insert(line.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return names;
}

TEST(CatalogueTest, TheIndexByLayerAndObjectHasEachMistakeOnce) {
  std::multiset<std::string> ids;
  for (const Mistake& mistake : mistakeCatalogue()) ids.insert(mistake.id);
  EXPECT_EQ(indexed(), ids);
}

}  // namespace
}  // namespace ringscope::traces
