// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/sql/named_queries.h"

#include "traces/format/schema/names.h"

namespace ringscope::traces {
namespace {

constexpr NamedQuery kQueries[] = {
    {"time_by_kind", "what each rank's time went into",
     R"(SELECT rank, kind, count(*) AS events, sum(end_ns - begin_ns) AS wall_ns,
       sum(cpu_ns) AS cpu_ns
FROM events WHERE kind <> 'pause'
GROUP BY rank, kind ORDER BY rank, wall_ns DESC)"},
    {"steps", "how long each training step took on each rank",
     R"(SELECT train_step, rank, min(begin_ns) AS begin_ns,
       max(end_ns) - min(begin_ns) AS wall_ns, sum(cpu_ns) AS cpu_ns
FROM events GROUP BY train_step, rank ORDER BY train_step, rank)"},
    {"slowest_events", "the twenty longest stretches of time",
     R"(SELECT end_ns - begin_ns AS wall_ns, cpu_ns, kind, rank, train_step, layer, direction, stage
FROM events WHERE kind <> 'pause' ORDER BY wall_ns DESC LIMIT 20)"},
    {"waits_by_layer", "where ranks waited for messages",
     R"(SELECT layer, direction, count(*) AS waits, sum(end_ns - begin_ns) AS wall_ns,
       max(end_ns - begin_ns) AS longest_ns
FROM events WHERE kind = 'wait' GROUP BY layer, direction ORDER BY wall_ns DESC)"},
    {"work_balance", "each rank's attention, and its share of an even deal",
     R"(WITH work AS (SELECT rank, count(*) AS pieces, sum(cpu_ns) AS cpu_ns,
              sum((q_end - q_begin) * (k_end - k_begin)) AS pairs_per_head_unmasked
              FROM events WHERE kind = 'attend' GROUP BY rank)
SELECT rank, pieces, pairs_per_head_unmasked, cpu_ns,
       round(cpu_ns * 1.0 / (SELECT nullif(avg(cpu_ns), 0) FROM work), 3) AS of_even
FROM work ORDER BY rank)"},
    {"hops_by_layer", "messages and bytes of each layer",
     R"(SELECT payload, layer, direction, count(*) AS hops, sum(bytes) AS bytes,
       round(sum(bytes) * 1.0 / nullif(sum(end_ns - start_ns), 0), 3) AS gb_per_s
FROM hops GROUP BY payload, layer, direction ORDER BY payload, layer, direction)"},
    {"slowest_hops", "the twenty messages that were under way longest",
     R"(SELECT max(end_ns, ifnull(receive_end_ns, end_ns)) - begin_ns AS wall_ns, bytes, payload,
       rank, peer, train_step, layer, direction, stage
FROM hops WHERE begin_ns IS NOT NULL ORDER BY wall_ns DESC LIMIT 20)"},
    {"lost_messages", "messages of which one side was not recorded",
     R"(SELECT CASE WHEN begin_ns IS NULL THEN 'no send' ELSE 'no receive' END AS lacks, payload,
       rank, peer, bytes, train_step, layer, direction, stage, flow
FROM hops WHERE begin_ns IS NULL OR receive_begin_ns IS NULL)"},
    {"collectives", "collectives of each group, by what they carry",
     R"(SELECT "group", payload, count(DISTINCT flow) AS collectives, count(*) AS members,
       sum(bytes) AS bytes, sum(end_ns - begin_ns) AS wall_ns
FROM events WHERE kind = 'collective' GROUP BY "group", payload ORDER BY "group", payload)"},
    {"peak_memory",
     "the most that each rank's training steps needed at once, verification left out",
     R"(SELECT rank, max(step_bytes) AS peak_bytes, time_ns
FROM memory GROUP BY rank ORDER BY rank)"},
    {"memory_by_category", "the most that each rank held in each category, at different times",
     R"(SELECT rank, category, max(bytes) AS bytes, time_ns
FROM memory GROUP BY rank, category ORDER BY rank, bytes DESC)"},
    {"largest_tensors", "the twenty largest magnitudes that were recorded",
     R"(SELECT abs_max, mean, tensor, name, rank, train_step, layer, direction, stage, shape
FROM tensors WHERE name NOT LIKE 'error.%' ORDER BY abs_max DESC LIMIT 20)"},
    {"not_finite", "tensors with elements that are no finite numbers",
     R"(SELECT tensor, name, nan, inf, rank, train_step, layer, direction, stage
FROM tensors WHERE nan > 0 OR (inf > 0 AND tensor NOT IN ('lse', 'block_lse', 'running_lse'))
ORDER BY train_step, nan DESC LIMIT 100)"},
    {"same_on_ranks", "buffers whose local part is the same on several ranks",
     R"(SELECT name AS buffer, train_step, count(*) AS ranks, group_concat(rank) AS which, shape
FROM tensors WHERE tensor = 'buffer' GROUP BY name, train_step, hash_algorithm, hash HAVING count(*) > 1
ORDER BY train_step, buffer)"},
    {"shares", "which tokens of each buffer a rank has",
     R"(SELECT buffer, rank, train_step, local_shape, full_shape, global_from_local
FROM shards WHERE train_step = (SELECT min(train_step) FROM shards) ORDER BY buffer, rank)"},
    {"worst_diffs", "the twenty tensors furthest from unsharded attention",
     R"(SELECT ratio, error, "limit", tensor, isolated, train_step, layer, direction, worst_index
FROM diffs ORDER BY ratio DESC LIMIT 20)"},
    {"worst_tokens", "the twenty targets with the largest loss",
     R"(SELECT loss, log_probability, train_step, sequence, token, rank, label
FROM tokens ORDER BY loss DESC LIMIT 20)"},
    {"findings", "what the doctor found",
     R"(SELECT severity, rule, rank, train_step, layer, buffer, evidence, remedy FROM findings)"},
};

}  // namespace

std::span<const NamedQuery> namedQueries() {
  return kQueries;
}

const NamedQuery& namedQuery(std::string_view name) {
  return entryNamed("named query", name, kQueries,
                    [](const NamedQuery& query) { return query.name; });
}

}  // namespace ringscope::traces
