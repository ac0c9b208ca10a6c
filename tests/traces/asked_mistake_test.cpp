// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/mistakes/needs/asked_mistake.h"

#include <gtest/gtest.h>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

TEST(AskedMistakeTest, AnIdAloneIsOfTheWholeRun) {
  const AskedMistake asked = AskedMistake::parse("naive_sum_merge");
  EXPECT_EQ(asked.id, "naive_sum_merge");
  EXPECT_FALSE(asked.isLimited());
  EXPECT_EQ(asked.places(), "");
}

TEST(AskedMistakeTest, PlacesComeInAnyOrder) {
  const AskedMistake asked = AskedMistake::parse("lse_base2:step=12,rank=3");
  EXPECT_EQ(asked.id, "lse_base2");
  EXPECT_EQ(asked.rank, 3);
  EXPECT_EQ(asked.step, 12);
  EXPECT_FALSE(asked.layer);
  EXPECT_EQ(asked.places(), "rank 3, step 12");
}

TEST(AskedMistakeTest, ABufferIsAPlaceToo) {
  const AskedMistake asked = AskedMistake::parse("balance_differs_between_buffers:buffer=labels");
  EXPECT_EQ(asked.buffer, "labels");
  EXPECT_TRUE(asked.isLimited());
  EXPECT_EQ(asked.places(), "buffer labels");
}

TEST(AskedMistakeTest, ItsTextIsReadAsTheSame) {
  for (const char* text : {"a", "a:step=2", "a:rank=0,layer=1,step=2,buffer=labels"})
    EXPECT_EQ(AskedMistake::parse(text).text(), text);
}

TEST(AskedMistakeTest, RejectsAnInvalidPlaceWithTheExpectedForm) {
  for (const char* text : {"a:", "a:layer", "a:layer=", "a:layer=-1", "a:layer=1x", "a:head=1",
                           "a:layer=1,layer=2", "a:,rank=1", "a:rank=99999999999",
                           "a:layer=1;rank=2", "a:buffer=", "a:buffer=q,buffer=k"}) {
    try {
      AskedMistake::parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_NE(std::string(error.what()).find("ID:rank=R,layer=L,step=S"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace ringscope::traces
