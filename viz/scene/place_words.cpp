// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/place_words.h"

#include <charconv>
#include <vector>

namespace ringscope::viz {
namespace {

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Splits at spaces and signs, in lower case. An arrow becomes a word of its own.
std::vector<std::string> splitWords(std::string text) {
  for (const char* arrow : {"->", "→", ">"}) replaceAll(text, arrow, " \x1f ");
  for (const char* sign : {"›", "·", ",", "\t", "\n"}) replaceAll(text, sign, " ");
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c != ' ')
      words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// Reads the words one after the other. A number follows the word that it counts.
class Parser {
 public:
  explicit Parser(const std::string& text) : words_(splitWords(text)) {}

  PlaceWords parse() {
    if (words_.empty()) refuse("Nothing was typed");
    while (at_ < words_.size() && place_.problem.empty()) takePart();
    return place_;
  }

 private:
  void refuse(const std::string& reason) {
    if (place_.problem.empty())
      place_.problem = reason + "; accepted are " + std::string(kAcceptedPlaces) + ".";
  }
  bool take(const std::string& word) {
    if (at_ >= words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  /// Takes the number after a word. Refuses the words when there is none or when it is too large.
  template <typename Integer = std::int32_t>
  Integer number(const std::string& counted) {
    Integer value = 0;
    const std::string word = at_ < words_.size() ? words_[at_] : "";
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || end != word.data() + word.size() || error != std::errc() || value < 0)
      refuse("“" + counted + "” needs a number after it" +
             (word.empty() || word == kArrow ? "" : ", and “" + word + "” is none"));
    ++at_;
    return value;
  }
  template <typename Value>
  void set(std::optional<Value>& part, const std::string& name, Value value) {
    if (part) refuse("“" + name + "” is given twice");
    part = value;
  }
  void takeHop() {
    const auto from = WorldRank::of(number("hop"));
    if (!take(kArrow) && !take("to"))
      return refuse("“hop” needs two ranks with an arrow between them");
    set(place_.hop, "hop", {from, WorldRank::of(number("→"))});
  }
  void takePart() {
    if (take("token"))
      return set(place_.token, "token", TokenIndex::of(number<TokenIndex::Value>("token")));
    if (take("layer")) return set(place_.layer, "layer", Layer::of(number("layer")));
    if (take("rank")) return set(place_.rank, "rank", WorldRank::of(number("rank")));
    if (take("forward"))
      return set(place_.direction, "forward or backward", traces::Direction::kForward);
    if (take("backward"))
      return set(place_.direction, "forward or backward", traces::Direction::kBackward);
    if (take("hop")) return takeHop();
    if (take("ring")) {
      take("step");
      return set(place_.ring_step, "ring step", RingStep::of(number("ring step")));
    }
    const bool whole = take("training") || take("train");
    if (take("step")) return set(place_.train_step, "step", number("step"));
    if (whole) return refuse("“training” needs “step” and a number after it");
    refuse("“" + (words_[at_] == kArrow ? "→" : words_[at_]) + "” names no place");
  }

  static constexpr const char* kArrow = "\x1f";

  std::vector<std::string> words_;
  std::size_t at_ = 0;
  PlaceWords place_;
};

}  // namespace

PlaceWords parsePlaceWords(const std::string& words) {
  return Parser(words).parse();
}

}  // namespace ringscope::viz
