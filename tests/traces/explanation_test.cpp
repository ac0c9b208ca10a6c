// SPDX-License-Identifier: Apache-2.0
// Every mistake has an explanation, and the views and commands that it mentions exist.
#include "traces/analysis/mistakes/explanation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

using test::readContent;

const fs::path kSource = test::kSources;
const fs::path kFolder = kSource / "resources/mistakes";

std::vector<Explanation> all() {
  std::vector<Explanation> explanations;
  for (const Mistake& mistake : mistakeCatalogue()) {
    const std::string name = mistake.id + ".md";
    explanations.push_back(parseExplanation(mistake.id, readContent(kFolder / name), name));
  }
  return explanations;
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

/// Returns all sources of a folder, one after the other.
std::string sourcesOf(const std::string& folder) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / folder))
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h")
      text += readContent(entry.path());
  return text;
}

/// Returns the lines of code that call a program of RingScope; a line that ends with \ continues in
/// the next.
std::vector<std::vector<std::string>> commandsOf(const Explanation& explanation) {
  std::istringstream lines(std::regex_replace(explanation.how_to_see, std::regex("\\\\\n *"), ""));
  std::vector<std::vector<std::string>> commands;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("ringscope")) continue;
    std::istringstream words(line);
    commands.emplace_back(std::istream_iterator<std::string>(words),
                          std::istream_iterator<std::string>());
  }
  return commands;
}

constexpr const char* kShort =
    "# A title\n\n## What happens\n\nThis.\n\n## How to see it here\n\nThere.\n\n"
    "## How to fix it\n\n### PyTorch\n\n```python\n# a comment\n```\n\n"
    "## Reported in\n\n- [a/b#1](https://github.com/a/b/issues/1)\n";

TEST(ExplanationTest, EachMistakeHasOneExplanationAndEachFileAMistake) {
  std::set<std::string> files, expected;
  for (const auto& entry : fs::directory_iterator(kFolder))
    files.insert(entry.path().filename().string());
  for (const Mistake& mistake : mistakeCatalogue()) expected.insert(mistake.id + ".md");
  EXPECT_EQ(files, expected);
  for (const Explanation& explanation : all()) {
    EXPECT_FALSE(explanation.title.empty()) << explanation.id;
    EXPECT_GE(explanation.remedies.size(), 2u) << explanation.id << ": for some other framework";
    Explanation read = readExplanation(explanation.id);
    EXPECT_EQ(read.in_sample_run, findMistake(explanation.id)->injectable) << explanation.id;
    read.in_sample_run = true;
    EXPECT_EQ(read, explanation) << "found by the program";
  }
}

TEST(ExplanationTest, LinksAreSecureAndNameWhatTheCatalogueNames) {
  const std::regex issue(R"((#\d+))");
  for (const Explanation& explanation : all()) {
    EXPECT_FALSE(explanation.links.empty()) << explanation.id;
    std::set<std::string> linked;
    for (const auto& link : explanation.links) {
      EXPECT_TRUE(link.address.starts_with("https://")) << link.address;
      const std::regex of_issue(R"(https://github\.com/([\w.-]+/[\w.-]+)/issues/(\d+))");
      std::smatch parts;
      if (!std::regex_match(link.address, parts, of_issue)) continue;
      EXPECT_EQ(link.words, parts[1].str() + "#" + parts[2].str()) << explanation.id;
      linked.insert("#" + parts[2].str());
    }
    EXPECT_EQ(linked, matches(findMistake(explanation.id)->reported_in, issue)) << explanation.id;
    EXPECT_EQ(readContent(kFolder / (explanation.id + ".md")).find("http:"), std::string::npos);
  }
}

TEST(ExplanationTest, CommandsAreThoseOfTheProgramsAndMakeThisMistake) {
  const std::string app = sourcesOf("app");
  const std::set<std::string> views = matches(readContent(kSource / "viz/views/registry.cpp"),
                                              std::regex("\\{\"(\\w+)\", \"\\w+\", make"));
  ASSERT_GE(views.size(), 9u);
  for (const Explanation& explanation : all()) {
    bool makes = false, shows = false;
    for (const auto& words : commandsOf(explanation)) {
      EXPECT_TRUE(words[0] == "ringscope" || words[0] == "ringscope-gui") << words[0];
      if (words[0] == "ringscope") {
        EXPECT_TRUE(fs::exists(kSource / "app/ringscope/commands" / (words[1] + ".cpp")) ||
                    fs::exists(kSource / "app/ringscope-engine/commands" / (words[1] + ".cpp")))
            << explanation.id << ": " << words[1];
      }
      for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "--mistake") {
          EXPECT_EQ(words.at(i + 1), explanation.id);
          makes = true;
        }
        if (words[i] == "--view") {
          EXPECT_TRUE(views.contains(words.at(i + 1))) << explanation.id << ": " << words[i + 1];
          EXPECT_EQ(words[i + 1], findMistake(explanation.id)->view) << explanation.id;
          shows = true;
        }
        if (words[i].starts_with("--")) {
          const std::string name = words[i].substr(2);
          EXPECT_TRUE(app.find("\"--" + name + "\"") != std::string::npos ||
                      app.find("{\"" + name + "\"") != std::string::npos)
              << explanation.id << ": " << words[i];
        }
        if (words[i].starts_with("resources/")) {
          EXPECT_TRUE(fs::exists(kSource / words[i])) << explanation.id << ": " << words[i];
        }
      }
    }
    EXPECT_EQ(makes, findMistake(explanation.id)->injectable) << explanation.id;
    EXPECT_TRUE(shows) << explanation.id;
  }
}

TEST(ExplanationTest, FiguresOfTheSampleRunStandWhereItsCommandsAre) {
  // Results: numbers with two decimals or more, and numbers with a comma at their thousands.
  const std::regex figure(R"((\d+\.\d{2,}|\d,\d{3}))");
  const std::regex sample(R"((\bsample\b|\b[Hh]ere\b))");
  const std::set<std::string> constants = {"1.4427", "1.44"};  // 1 / ln 2
  std::size_t with_figures = 0;
  for (const Explanation& explanation : all()) {
    for (const std::string& found : matches(explanation.what_happens, figure))
      EXPECT_TRUE(constants.contains(found)) << explanation.id << ": " << found;
    EXPECT_EQ(matches(explanation.what_happens, sample), std::set<std::string>())
        << explanation.id << ": that part is said of any job";
    with_figures += !matches(explanation.how_to_see, figure).empty();
    EXPECT_FALSE(commandsOf(explanation).empty()) << explanation.id;
  }
  EXPECT_GT(with_figures, 20u);
}

TEST(ExplanationTest, NamedFilesOfRingScopeExist) {
  const std::regex path("`((?:traces|engine|viz|app)/[\\w/.-]+)`");
  for (const Explanation& explanation : all())
    for (const std::string& named : matches(readContent(kFolder / (explanation.id + ".md")), path))
      EXPECT_TRUE(fs::exists(kSource / named)) << explanation.id << ": " << named;
}

TEST(ExplanationTest, TheyAreShortAndTheirCodeFitsAPage) {
  for (const Explanation& explanation : all()) {
    const std::string text = readContent(kFolder / (explanation.id + ".md"));
    const auto lines = std::ranges::count(text, '\n');
    EXPECT_GE(lines, 25) << explanation.id;
    EXPECT_LE(lines, 60) << explanation.id;
    std::istringstream each(text);
    bool code = false;
    for (std::string line; std::getline(each, line);) {
      if (line.starts_with("```")) code = !code;
      EXPECT_LE(code ? line.size() : 0, 92u) << explanation.id << ": " << line;
    }
  }
}

TEST(ExplanationTest, ATextIsParsedIntoItsSections) {
  const Explanation explanation = parseExplanation("x", kShort, "x.md");
  EXPECT_EQ(explanation.title, "A title");
  EXPECT_EQ(explanation.what_happens, "This.");
  EXPECT_EQ(explanation.how_to_see, "There.");
  ASSERT_EQ(explanation.remedies.size(), 1u);
  ASSERT_NE(explanation.remedyFor(Framework::kPyTorch), nullptr);
  EXPECT_EQ(explanation.remedyFor(Framework::kPyTorch)->text, "```python\n# a comment\n```");
  EXPECT_EQ(explanation.remedyFor(Framework::kRingScope), nullptr);
  ASSERT_EQ(explanation.links.size(), 1u);
  EXPECT_EQ(explanation.links[0].words, "a/b#1");
  EXPECT_EQ(explanation.links[0].address, "https://github.com/a/b/issues/1");
}

TEST(ExplanationTest, AHeadingInsideCodeIsCode) {
  std::string text = kShort;
  text.replace(text.find("# a comment"), 11, "## What happens\n### PyTorch");
  EXPECT_EQ(parseExplanation("x", text, "x.md").remedyFor(Framework::kPyTorch)->text,
            "```python\n## What happens\n### PyTorch\n```");
}

TEST(ExplanationTest, AnotherFormIsRefusedByWhatIsWrongWithIt) {
  const auto changed = [](const std::string& part, const std::string& by) {
    std::string text = kShort;
    return text.replace(text.find(part), part.size(), by);
  };
  const auto refused = [](const std::string& text, const std::string& words) {
    EXPECT_ERROR(parseExplanation("x", text, "x.md"), ErrorCode::kInput, words);
  };
  refused("", "x.md does not begin with a title");
  refused(changed("# A title", "A title"), "does not begin with a title");
  refused(changed("## Reported in", "## Reported"), "\"Reported in\" is missing");
  refused(changed("This.", ""), "\"What happens\" is missing, empty");
  refused(changed("### PyTorch", "### TensorFlow"), "\"TensorFlow\" is no framework");
  refused(changed("### PyTorch", "### PyTorch\n\nthis\n\n### RingScope"), "not in order");
  refused(changed("### PyTorch", "Do this.\n\n### PyTorch"), "needs a framework's heading");
  refused(changed("## Reported in", "### Megatron-LM\n\n## Reported in"), "nothing stands under");
  refused(std::string(kShort) + "\n## More\n\nof it\n", "\"More\" is one section too many");
  refused(changed("This.", "\xff"), "is not UTF-8");
}

TEST(ExplanationTest, RejectsAnUnknownMistake) {
  EXPECT_ERROR(readExplanation("no_such_mistake"), ErrorCode::kUsage,
               "there is no mistake no_such_mistake; `ringscope mistakes` prints all");
  EXPECT_ERROR(readExplanation("../sample/text"), ErrorCode::kUsage, "there is no mistake");
}

TEST(ExplanationTest, CompiledTextsEqualTheFilesInTheFolder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(kFolder))
    files.emplace(entry.path().stem().string(), readContent(entry.path()));
  EXPECT_EQ(explanationTexts(), files);
}

TEST(ExplanationTest, EachMistakeSaysWhatToChangeInEachFramework) {
  ASSERT_EQ(explainedFrameworks().size(), kValueCount<Framework>);
  for (const Explanation& explanation : all())
    for (std::size_t i = 0; i < kValueCount<Framework>; ++i) {
      const auto framework = static_cast<Framework>(i);
      const auto* remedy = explanation.remedyFor(framework);
      ASSERT_NE(remedy, nullptr) << explanation.id << " in " << name(framework);
      EXPECT_FALSE(remedy->text.empty()) << explanation.id;
      const auto own = std::ranges::find(explanation.remedies, explainedFrameworks()[i],
                                         &Explanation::Remedy::framework);
      if (own != explanation.remedies.end()) {
        EXPECT_EQ(remedy, &*own) << explanation.id;
      }
    }
}

TEST(ExplanationTest, AFrameworkWithoutATextUsesThatOfItsAttention) {
  Explanation explanation;
  explanation.remedies = {{"RingScope", "a"}, {"PyTorch", "b"}};
  EXPECT_EQ(explanation.remedyFor(Framework::kTransformers)->framework, "PyTorch");
  EXPECT_EQ(explanation.remedyFor(Framework::kMegatron)->framework, "PyTorch");
  EXPECT_EQ(explanation.remedyFor(Framework::kTransformerEngine)->framework, "PyTorch");
  explanation.remedies.push_back({"Transformer Engine", "c"});
  EXPECT_EQ(explanation.remedyFor(Framework::kMegatron)->framework, "Transformer Engine");
  explanation.remedies = {{"PyTorch", "b"}};
  EXPECT_EQ(explanation.remedyFor(Framework::kRingScope), nullptr);
}

TEST(ExplanationTest, BeginsWithAnyFrameworkAndKeepsTheOthersInOrder) {
  Explanation explanation;
  explanation.remedies = {{"RingScope", "a"}, {"PyTorch", "b"}, {"Megatron-LM", "c"}};
  const auto order = [&](Framework framework) {
    std::string letters;
    for (const auto& remedy : explanation.beginningWith(framework).remedies) letters += remedy.text;
    return letters;
  };
  EXPECT_EQ(order(Framework::kRingScope), "abc");
  EXPECT_EQ(order(Framework::kMegatron), "cab");
  EXPECT_EQ(order(Framework::kTransformers), "bac");
}

}  // namespace
}  // namespace ringscope::traces
