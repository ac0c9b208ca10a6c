// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "engine/mistakes/registry.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::engine {
namespace {

TEST(MistakeRegistryTest, InjectsWhatTheCatalogueSaysCanBeInjected) {
  std::set<std::string> said, can;
  for (const auto& mistake : traces::mistakeCatalogue())
    if (mistake.injectable) said.insert(mistake.id);
  for (const InjectableMistake& mistake : injectableMistakes()) can.insert(mistake.id);
  EXPECT_EQ(can, said);
  EXPECT_EQ(can.size(), injectableMistakes().size()) << "one is registered twice";
}

}  // namespace
}  // namespace ringscope::engine
