# SPDX-License-Identifier: Apache-2.0
# The oracle is a library of its own that links nothing of the project.
add_library(ringscope_test_oracle STATIC facts/plan_oracle.cpp)
ringscope_target(ringscope_test_oracle)
ringscope_test(test_facts engine
  facts/computed_facts.cpp facts/coverage_facts.cpp facts/doctor_facts.cpp facts/draw_attention.cpp facts/draw_training.cpp facts/facts_case.cpp
  facts/evidence_facts.cpp facts/facts_test.cpp facts/growing_facts.cpp facts/inspector_facts.cpp facts/merge_facts.cpp facts/moment_facts.cpp
  facts/panel_facts.cpp facts/record_processes.cpp facts/ring_facts.cpp facts/rule_facts.cpp
  facts/scene_facts.cpp facts/sentence_facts.cpp facts/status_facts.cpp facts/tensor_facts.cpp
  LIBS ringscope_test_oracle ringscope_scene ringscope_engine GTest::gtest_main)
add_dependencies(test_facts ringscope)
target_precompile_headers(test_facts REUSE_FROM ringscope_engine)
