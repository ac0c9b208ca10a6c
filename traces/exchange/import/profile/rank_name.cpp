// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/profile/rank_name.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "traces/exchange/import/content.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

WorldRank rankIn(std::string_view digits) {
  std::int32_t rank = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  return error == std::errc() && rank >= 0 && rank < kMaxRanks ? WorldRank::of(rank) : WorldRank();
}

}  // namespace

WorldRank rankInName(const std::string& path) {
  constexpr std::string_view kWord = "rank", kOfProfiler = ".pt.trace";
  constexpr std::size_t kMostDigits = 3;
  std::string name = nameWithoutEndings(path);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.ends_with(kOfProfiler)) name.resize(name.size() - kOfProfiler.size());
  if (const std::size_t word = name.rfind(kWord); word != std::string::npos) {
    std::size_t begin = word + kWord.size();
    if (begin < name.size() && std::string_view("_-.=").find(name[begin]) != std::string::npos)
      ++begin;
    const auto end =
        std::find_if_not(name.begin() + static_cast<std::ptrdiff_t>(begin), name.end(), isDigit);
    const auto size = static_cast<std::size_t>(end - name.begin()) - begin;
    if (size > 0) return rankIn(std::string_view(name).substr(begin, size));
  }
  const auto digits = std::find_if_not(name.rbegin(), name.rend(), isDigit) - name.rbegin();
  const auto size = static_cast<std::size_t>(digits);
  return size == 0 || size > kMostDigits
             ? WorldRank()
             : rankIn(std::string_view(name).substr(name.size() - size));
}

}  // namespace ringscope::traces
