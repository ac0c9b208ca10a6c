// SPDX-License-Identifier: Apache-2.0
// The doctor's answer for a run in which somebody killed a rank.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/campaign.h"
#include "tests/support/child_program.h"
#include "tests/support/run_program.h"

namespace ringscope {
namespace {

using nlohmann::json;

TEST(DoctorFaultTest, TheDoctorReportsAKilledRankAndNothingElse) {
  for (test::Campaign campaign(3, 2); campaign.next();) {
    test::TempDir dir;
    const std::string trace = dir.file("a.rscope");
    const auto pick = [&](std::vector<std::string> list) {
      return list[campaign.random()() % list.size()];
    };
    const std::vector<std::string> more = {
        "--launch",   "processes",
        "--cp",       pick({"2", "4"}),
        "--strategy", pick({"ring", "all_gather", "hybrid"}),
        "--mask",     pick({"causal", "documents"}),
        "--dtype",    pick({"float32", "bfloat16"}),
        "--capture",  pick({"full", "stats", "values:steps=0-9"})};
    std::vector<std::string> arguments = test::longRun(trace);
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string all;
    for (const std::string& argument : more) all += argument + " ";
    SCOPED_TRACE(campaign.text() + ": " + all);
    test::Child child(arguments);
    test::waitForEvents(trace);
    campaign.anyMoment(std::chrono::milliseconds(300));
    const auto ranks = child.children();
    ASSERT_EQ(ranks.size(), std::stoul(more[3]));
    const std::size_t rank = campaign.random()() % ranks.size();
    kill(ranks[rank], SIGKILL);
    EXPECT_EQ(child.waitAtMost(std::chrono::seconds(30)), 3);
    const auto doctor = test::ringscope("doctor --json " + trace);
    EXPECT_EQ(doctor.code, 0) << doctor.out;
    const json answer = json::parse(doctor.out);
    EXPECT_TRUE(answer["findings"].empty()) << doctor.out;
    const std::string failure = answer["failure"];
    EXPECT_NE(failure.find("rank " + std::to_string(rank)), std::string::npos) << failure;
    EXPECT_NE(failure.find("Killed"), std::string::npos) << failure;
    EXPECT_NE(test::ringscope("doctor " + trace).out.find(failure), std::string::npos);
  }
}

}  // namespace
}  // namespace ringscope
