"""What others call the fields of our records, so that ours can be offered for them.

Sources: configurations of Hugging Face transformers; arguments of Megatron-LM; torchtitan's and
DeepSpeed's configurations; the papers' own letters.
"""

from collections.abc import Mapping
from types import MappingProxyType

_MODEL = {
    "layers": "num_hidden_layers num_layers n_layer n_layers num_decoder_layers decoder_layers",
    "hidden": "hidden_size n_embd d_model dim model_dim emb_dim embedding_size",
    "heads": "num_attention_heads n_head n_heads num_heads",
    "key_value_heads": "num_key_value_heads n_kv_heads num_query_groups num_kv_heads multi_query_group_num",
    "head_size": "head_dim kv_channels attention_head_size v_head_dim qk_nope_head_dim",
    "feed_forward": "intermediate_size ffn_hidden_size n_inner ffn_dim d_ff hidden_dim mlp_dim",
    "vocabulary": "vocab_size padded_vocab_size n_vocab",
    "gated": "swiglu gated_linear_unit",
    "tied": "tie_word_embeddings",
    "biases": "attention_bias add_bias_linear add_qkv_bias",
    "norm": "normalization",
    "query_key_norm": "qk_layernorm use_qk_norm qk_norm",
    "positions": "max_position_embeddings n_positions n_ctx",
    "experts": "num_experts num_local_experts n_routed_experts moe_num_experts",
    "active_experts": "num_experts_per_tok moe_router_topk top_k moe_topk num_experts_per_token",
    "expert_feed_forward": "moe_intermediate_size moe_ffn_hidden_size expert_dim",
    "shared": "n_shared_experts num_shared_experts shared_experts",
    "dense_layers": "first_k_dense_replace num_dense_layers",
    "latent": "kv_lora_rank",
    "query_latent": "q_lora_rank",
    "rope": "qk_rope_head_dim qk_pos_emb_head_dim",
    "multi_token": "num_nextn_predict_layers mtp_num_layers",
}
_LAYOUT = {
    "tensor": "tp tensor_parallel tensor_parallel_degree tensor_model_parallel_size tensor_parallel_size",
    "pipeline": "pp pipeline_parallel pipeline_parallel_degree pipeline_model_parallel_size pipeline_parallel_size",
    "context": "cp context_parallel context_parallel_degree context_parallel_size",
    "expert": "ep expert_parallel expert_parallel_degree expert_model_parallel_size expert_parallel_size",
    "expert_tensor": "etp expert_tensor_parallel_size expert_tensor_parallel_degree",
    "data": "dp data_parallel data_parallel_size data_parallel_degree data_parallel_shard_degree",
    "virtual": "vpp virtual_pipeline_model_parallel_size interleaved_stages num_model_chunks",
    "microbatches": "gradient_accumulation_steps accumulation_steps grad_accum num_microbatches",
    "micro_batch": "micro_batch_size mbs per_device_train_batch_size train_micro_batch_size_per_gpu local_batch_size",
    "sequence": "seq_len seq_length sequence_length max_seq_len context_length block_size",
    "zero_stage": "zero stage zero_optimization",
    "recompute": "activation_checkpointing recompute_granularity activation_checkpoint gradient_checkpointing",
    "sequence_parallel": "sp",
    "first_layers": "decoder_first_pipeline_num_layers",
    "last_layers": "decoder_last_pipeline_num_layers",
}


def _by_their_name(ours: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({name: own for own, names in ours.items() for name in names.split()})


MODEL_FIELDS = _by_their_name(_MODEL)
LAYOUT_FIELDS = _by_their_name(_LAYOUT)
