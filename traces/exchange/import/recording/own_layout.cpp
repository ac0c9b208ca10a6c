// SPDX-License-Identifier: Apache-2.0
// The tokens of ranks in jobs that cut their own batch and name no buffers.
#include <algorithm>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"
#include "traces/exchange/import/recording/own_batches.h"
#include "traces/exchange/import/recording/token_chains.h"
#include "traces/exchange/import/recording/whole_ids.h"
#include "traces/format/schema/token_runs.h"
#include "traces/plan/balance.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

/// Reports whether each target is the token that follows, if ranks have their tokens in a layout.
bool targetsFollow(const std::vector<OwnBatch>& seats, const ShardLayout& layout) {
  constexpr std::int64_t kFewest = 8;  // targets
  const std::vector<Tokens> tokens = tokensByRank(layout);
  std::vector<std::pair<std::size_t, std::size_t>> place(static_cast<std::size_t>(layout.length()));
  for (std::size_t seat = 0; seat < seats.size(); ++seat)
    for (std::size_t i = 0; i < tokens[seat].size(); ++i)
      place[static_cast<std::size_t>(tokens[seat][i])] = {seat, i};
  std::int64_t compared = 0;
  for (std::size_t seat = 0; seat < seats.size(); ++seat) {
    const OwnBatch& own = seats[seat];
    if (own.targets.size() != own.ids.size()) return false;
    for (std::size_t at = 0; at < own.ids.size(); ++at) {
      const auto width = static_cast<std::size_t>(layout.localLength());
      const auto next = static_cast<std::size_t>(tokens[seat][at % width] + 1);
      if (next >= place.size() || own.targets[at] == own.ignored) continue;
      const auto [owner, i] = place[next];
      if (own.targets[at] != seats[owner].ids[at / width * width + i]) return false;
      ++compared;
    }
  }
  return compared >= kFewest;
}

/// Returns the layout that the targets show; nullopt when they show none, or do not decide.
std::optional<ShardLayout> layoutByTargets(const std::vector<OwnBatch>& seats) {
  std::optional<ShardLayout> found;
  if (seats.empty()) return found;
  const auto ranks = static_cast<std::int32_t>(seats.size());
  for (ShardLayout& layout : sequenceLayouts(ranks * seats.front().tokens(), ranks)) {
    if (!targetsFollow(seats, layout)) continue;
    if (found) return std::nullopt;
    found = std::move(layout);
  }
  return found;
}

/// Returns the tokens of each rank, if the positions of all are those of one sequence.
std::vector<Tokens> tokensByPositions(const std::vector<OwnBatch>& seats) {
  if (seats.empty()) return {};
  const std::int64_t length = seats.front().tokens();
  std::vector<bool> seen(static_cast<std::size_t>(length * std::ssize(seats)));
  std::vector<Tokens> all;
  for (const OwnBatch& own : seats) {
    const auto width = static_cast<std::size_t>(length);
    if (own.positions.size() < width || own.positions.size() % width != 0) return {};
    for (std::size_t at = 0; at < own.positions.size(); ++at) {
      const std::int64_t position = own.positions[at];
      if (position != own.positions[at % width] || position < 0 || position >= std::ssize(seen))
        return {};
      if (at >= width) continue;
      if (seen[static_cast<std::size_t>(position)]) return {};
      seen[static_cast<std::size_t>(position)] = true;
    }
    all.emplace_back(own.positions.begin(), own.positions.begin() + length);
  }
  return all;
}

/// Returns the tokens of each rank, if the positions of all are those of packed documents.
std::vector<Tokens> tokensByPackedPositions(const std::vector<OwnBatch>& seats) {
  std::vector<Tokens> positions;
  for (const OwnBatch& own : seats)
    if (own.rows() == 1 && own.positions.size() == own.ids.size())
      positions.push_back(own.positions);
  return positions.size() == seats.size() ? tokensByDocuments(positions) : std::vector<Tokens>();
}

/// Returns the tokens of each rank, if all ranks' attention put them into one order.
std::vector<Tokens> tokensByOrder(const std::vector<OwnBatch>& seats) {
  if (seats.empty() ||
      std::ranges::count(seats, seats.front().order, &OwnBatch::order) != std::ssize(seats))
    return {};
  const auto ranks = static_cast<std::int32_t>(seats.size());
  for (const ShardLayout& layout : sequenceLayouts(ranks * seats.front().tokens(), ranks))
    if (name(layout.balance()) == seats.front().order) return tokensByRank(layout);
  return {};
}

/// Returns the tokens of each rank in a known layout, else as the targets show.
std::vector<Tokens> tokensByTargets(const std::vector<OwnBatch>& seats,
                                    const std::optional<ShardLayout>& layout) {
  if (layout) return tokensByRank(*layout);
  std::vector<OwnTokens> ranks(seats.size());
  for (std::size_t i = 0; i < seats.size(); ++i)
    ranks[i] = {&seats[i].ids, &seats[i].targets, seats[i].rows(), seats[i].ignored};
  return tokensByChain(ranks);
}

/// Returns the tokens of each rank, if all ranks embedded the whole sequence before they cut it.
std::vector<Tokens> tokensByWholeIds(const std::vector<OwnBatch>& seats) {
  std::vector<WholeIds> ranks;
  ranks.reserve(seats.size());
  for (const OwnBatch& own : seats)
    ranks.push_back({&own.ids, &own.targets, own.rows(), own.ignored});
  return tokensOfWholeIds(ranks);
}

/// Returns the runs [begin, end) of consecutive tokens.
nlohmann::json runsOf(const Tokens& tokens) {
  std::vector<TokenRun> single;
  for (const std::int64_t token : tokens) single.push_back({token, token + 1});
  nlohmann::json runs = nlohmann::json::array();
  for (const TokenRun& run : joinedInOrder(single)) runs.push_back({run.begin, run.end});
  return runs;
}

/// Returns the line of a rank's shard of the token ids.
nlohmann::json shardLine(const OwnBatch& own, std::int32_t step, const Tokens& tokens,
                         std::int64_t ranks) {
  const std::int64_t rows = own.rows(), length = std::ssize(tokens);
  std::vector<std::int64_t> full{rows, length * ranks}, local{rows, length};
  if (own.isPacked()) full = {length * ranks}, local = {length};
  nlohmann::json line = {{"line", "buffer"},
                         {"step", step},
                         {"name", "input_ids"},
                         {"named_by", "recognition"},
                         {"seq_dim", own.isPacked() ? 0 : 1},
                         {"full_shape", full},
                         {"local_shape", local},
                         {"tokens", runsOf(tokens)},
                         {"balance", ""}};
  if (length == own.tokens()) line["shard"] = own.ids_line->whole("id");
  return line;
}

/// Returns the batches of a group's ranks in its order; empty when some are missing or differ.
std::vector<OwnBatch> seatsOf(const std::vector<OwnBatch>& batches,
                              const std::vector<WorldRank>& members) {
  std::vector<OwnBatch> seats;
  for (const WorldRank member : members)
    for (const OwnBatch& own : batches)
      if (own.rank->rank == member &&
          own.ids_line->wholes("shape") == batches.front().ids_line->wholes("shape"))
        seats.push_back(own);
  return seats.size() == members.size() ? seats : std::vector<OwnBatch>();
}

/// The ranks that share a sequence, and the layout of their tokens.
struct Sharing {
  std::vector<OwnBatch> seats;
  std::optional<ShardLayout> layout;  ///< as the targets show it
};

/// Reports whether parts of a group have sequences of their own. A rank without targets does not
/// show which tokens follow its own: copies of a sequence under noise are on ranks of their own.
/// Two parts with the same tokens are such copies as well.
bool haveOwnSequences(const std::vector<Sharing>& parts) {
  std::set<std::vector<Tokens>> sequences;
  for (const Sharing& part : parts) {
    if (!part.layout) return false;
    std::vector<Tokens> sequence;
    for (const OwnBatch& own : part.seats) {
      if (std::ranges::count(own.targets, own.ignored) == std::ssize(own.targets)) return false;
      sequence.push_back(own.ids);
    }
    if (!sequences.insert(std::move(sequence)).second) return false;
  }
  return true;
}

/// Returns the parts of a group that share a sequence each. That is the whole group, unless the
/// targets show equal parts of consecutive ranks or of ranks at equal distances.
std::vector<Sharing> sharings(const std::vector<OwnBatch>& seats) {
  const std::size_t all = seats.size();
  for (std::size_t parts = 1; parts <= all / 2; ++parts)
    for (const bool consecutive : {true, false}) {
      if (all % parts != 0) continue;
      const std::size_t size = all / parts;
      std::vector<Sharing> found(parts);
      for (std::size_t seat = 0; seat < all; ++seat)
        found[consecutive ? seat / size : seat % parts].seats.push_back(seats[seat]);
      for (Sharing& part : found) part.layout = layoutByTargets(part.seats);
      if (parts == 1 ? found.front().layout.has_value() : haveOwnSequences(found)) return found;
    }
  return {{seats, std::nullopt}};
}

/// Returns the name of the group of these ranks. It is new if it is none that the job used.
std::string groupOf(RankLines& rank, const std::vector<OwnBatch>& seats) {
  std::vector<WorldRank> members;
  members.reserve(seats.size());
  for (const OwnBatch& own : seats) members.push_back(own.rank->rank);
  for (const auto& [name, known] : rank.groups)
    if (known == members) return name;
  return rank.groups.emplace("sequence", members).first->first;
}

}  // namespace

void addOwnLayout(RecordedJob& job) {
  std::map<RankLines*, std::vector<nlohmann::json>> lines;
  std::set<RankLines*> predicting;
  for (const auto& [step, batches] : readOwnBatches(job))
    for (const OwnBatch& first : batches) {
      const auto members = first.rank->findMembers(first.group);
      if (members.size() < 2 || members.front() != first.rank->rank) continue;
      for (const auto& [seats, layout] : sharings(seatsOf(batches, members))) {
        const auto of_whole = tokensByWholeIds(seats);
        const auto by_targets = of_whole.empty() ? tokensByTargets(seats, layout) : of_whole;
        auto tokens = layout || !of_whole.empty() ? by_targets : tokensByPositions(seats);
        if (tokens.empty()) tokens = tokensByPackedPositions(seats);
        if (tokens.empty()) tokens = by_targets;
        if (tokens.empty()) tokens = tokensByOrder(seats);
        for (std::size_t seat = 0; seat < tokens.size(); ++seat) {
          RankLines* rank = seats[seat].rank;
          lines[rank].push_back(shardLine(seats[seat], step, tokens[seat], std::ssize(seats)));
          lines[rank].back()["group"] = groupOf(*rank, seats);
          if (!by_targets.empty()) predicting.insert(rank);
        }
      }
    }
  for (RankLines* rank : predicting) stateCausal(*rank);
  // Batches refer to lines, which move when others are added.
  for (auto& [rank, more] : lines)
    for (const nlohmann::json& line : more) rank->lines.emplace_back(line);
}

}  // namespace ringscope::traces
