# SPDX-License-Identifier: Apache-2.0
# The oracle is a library of its own that links nothing of the project.
add_library(ringscope_test_oracle STATIC facts/plan_oracle.cpp facts/mistaken_pairs.cpp)
ringscope_target(ringscope_test_oracle)
add_library(ringscope_facts STATIC
  facts/account_facts.cpp facts/attention_evidence.cpp facts/block_evidence.cpp facts/compare_facts.cpp facts/compared_costs.cpp
  facts/compared_map_facts.cpp facts/compared_rows.cpp
  facts/computed_facts.cpp facts/coverage_facts.cpp facts/curve_facts.cpp
  facts/doctor_facts.cpp facts/draw_attention.cpp facts/draw_injected.cpp facts/draw_training.cpp facts/evidence_facts.cpp
  facts/facts_case.cpp facts/gradient_evidence.cpp facts/growing_facts.cpp facts/injected_verdicts.cpp
  facts/inspector_facts.cpp facts/layout_evidence.cpp facts/merge_facts.cpp facts/moment_facts.cpp facts/pair_evidence.cpp
  facts/panel_facts.cpp facts/proof_facts.cpp facts/query_facts.cpp facts/record_processes.cpp facts/ring_facts.cpp facts/rule_facts.cpp
  facts/scene_facts.cpp facts/sentence_facts.cpp facts/sentences.cpp facts/status_facts.cpp facts/tensor_facts.cpp facts/timeline_facts.cpp
  facts/lane_facts.cpp facts/random_events.cpp facts/said.cpp facts/span_facts.cpp
  facts/predict_facts.cpp facts/predicted_work.cpp
  facts/critical_facts.cpp facts/own_account_facts.cpp facts/own_clock_facts.cpp facts/own_clock_lacks.cpp
  facts/own_link_facts.cpp facts/spoiled_facts.cpp facts/plain_replay.cpp
  facts/predicted_limits.cpp facts/account_words.cpp
  facts/quantity_facts.cpp)
ringscope_target(ringscope_facts)
target_link_libraries(ringscope_facts PUBLIC ringscope_test_oracle ringscope_test_places ringscope_scene ringscope_engine GTest::gtest)
target_precompile_headers(ringscope_facts REUSE_FROM ringscope_engine)
target_compile_options(ringscope_facts PRIVATE -O1)
ringscope_test(test_facts engine facts/facts_test.cpp HEADERS ringscope_engine LIBS ringscope_facts GTest::gtest_main)
add_dependencies(test_facts ringscope)
if(RINGSCOPE_GUI)
  ringscope_window_test(test_painted_facts viz/painted_test.cpp viz/painted_merge.cpp viz/painted_moments.cpp viz/painted_numbers.cpp
    viz/painted_words.cpp)
  target_link_libraries(test_painted_facts PRIVATE ringscope_facts)
endif()
