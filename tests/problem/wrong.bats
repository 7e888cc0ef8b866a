# tags: slow asan
# Kernels that mistake an axis of the problem beyond sizes, types and a causal mask: each is caught.
load ../helper
load ../wrong

@test "every kernel that mistakes the head dimension of V is caught" {
  expect_each_wrong wrong_dv dv_v_stride dv_dot
}

@test "every kernel that mistakes a sink is caught" {
  expect_each_wrong wrong_sink sink_ignored sink_late
}

@test "every kernel with a wrong soft cap is caught" {
  expect_each_wrong wrong_softcap softcap_ignored softcap_rounded
}

@test "every kernel with a wrong window is caught" {
  expect_each_wrong wrong_window window_left_more window_swapped
}

@test "every kernel that mistakes the layout is caught" {
  expect_each_wrong wrong_layout layout_q_dense layout_lse
}

@test "every kernel that mistakes a ragged batch is caught" {
  expect_each_wrong wrong_batch ragged_padded ragged_tokens_lse
}

@test "every kernel that mistakes e4m3 or its scales is caught at 512 keys" {
  expect_each_wrong wrong_e4m3 e4m3_v_permuted e4m3_lse_rounded
}

@test "every kernel that mistakes pages, a shared prefix or a V in K is caught" {
  expect_each_wrong wrong_page page_next prefix_written
  expect_each_wrong wrong_v_in_k v_in_k_last v_in_k_scale
}

@test "what is wrong in a ragged batch is told by its sequence" {
  must 3 attn_faulty --shape batch=2q0s5_q9_q40s70,H=2,D=16 --device cpu --check-only --variants "$(bugs ragged_last ragged_last)" --json "$TMP/r.json"
  expect_json "$TMP/r.json" '"first at [b=3, h=0, q=0, d=0]" in d["results"][0]["reason"]'
}

@test "every kernel that mistakes lists of blocks is caught" {
  expect_each_wrong wrong_sparse sparse_ignored sparse_empty_lse
}
