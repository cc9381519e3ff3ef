"""Small members of model families: timm's, those of transformers, and structures of their own (model_structures.py).

ZOO maps a name, "timm-...", "transformers-..." or "own-...", to a function that makes the module, how it is called, and a function from a batch size to
its inputs. Libraries are imported by these functions alone."""
import torch

from model_structures import STRUCTURES, plain

ZOO = {f"own-{name}": make for name, make in STRUCTURES.items()}
WORDS = 101


def image(size):
    return lambda batch: {"x": torch.randn(batch, 3, size, size)}


# name: that of timm, and what makes it small; "size" is the image's, 64 without it.
TIMM = {
    "test_vit": ("test_vit", dict(img_size=64)),
    "test_vit2": ("test_vit2", dict(img_size=64)),
    "test_vit3": ("test_vit3", dict(img_size=64)),
    "test_vit4": ("test_vit4", dict(img_size=64)),
    "test_efficientnet": ("test_efficientnet", dict()),
    "test_efficientnet_gn": ("test_efficientnet_gn", dict()),
    "test_efficientnet_ln": ("test_efficientnet_ln", dict()),
    "test_efficientnet_evos": ("test_efficientnet_evos", dict()),
    "test_byobnet": ("test_byobnet", dict()),
    "test_nfnet": ("test_nfnet", dict()),
    "test_convnext": ("test_convnext", dict()),
    "test_convnext2": ("test_convnext2", dict()),
    "test_convnext3": ("test_convnext3", dict()),
    "test_resnet": ("test_resnet", dict()),
    "test_mambaout": ("test_mambaout", dict()),
    "swin": ("swin_tiny_patch4_window7_224", dict(size=56, img_size=56, embed_dim=16, depths=(1, 2), num_heads=(2, 2), window_size=7)),
    "swinv2": ("swinv2_tiny_window8_256", dict(size=64, img_size=64, embed_dim=16, depths=(2, 1), num_heads=(2, 2), window_size=8)),
    "swinv2_cr": ("swinv2_cr_tiny_224", dict(size=64, img_size=64, embed_dim=16, depths=(2, 1), num_heads=(2, 2), window_size=4)),
    "xcit": ("xcit_nano_12_p16_224", dict(img_size=64, depth=2, embed_dim=32, num_heads=2)),
    "pvt": ("pvt_v2_b0", dict(depths=(1, 1, 1, 1), embed_dims=(8, 16, 24, 32), num_heads=(1, 2, 2, 4))),
    "cait": ("cait_xxs24_224", dict(img_size=64, depth=2, embed_dim=32, num_heads=2)),
    "beit": ("beit_base_patch16_224", dict(img_size=64, depth=2, embed_dim=32, num_heads=2)),
    "eva02": ("eva02_tiny_patch14_224", dict(size=56, img_size=56, depth=2, embed_dim=32, num_heads=2)),
    "tnt": ("tnt_s_patch16_224", dict(img_size=64, depth=2, embed_dim=32, num_heads_outer=2, num_heads_inner=2, inner_dim=8)),
    "convit": ("convit_tiny", dict(img_size=64, depth=2, embed_dim=32, num_heads=4, local_up_to_layer=1)),
    "crossvit": ("crossvit_tiny_240", dict(size=240, depth=((1, 1, 0),), embed_dim=(16, 32), num_heads=(2, 2))),
    "twins": ("twins_svt_small", dict(img_size=64, embed_dims=(8, 16, 24, 32), depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 4))),
    "pit": ("pit_ti_distilled_224", dict(img_size=64)),
    "levit": ("levit_128s", dict(img_size=64)),
    "visformer": ("visformer_tiny", dict(img_size=64)),
    "edgenext": ("edgenext_xx_small", dict(depths=(1, 1, 2, 1))),
    "mobilevit": ("mobilevit_xxs", dict()),
    "mobilevitv2": ("mobilevitv2_050", dict()),
    "mobileone": ("mobileone_s0", dict(size=32)),
    "ghostnet": ("ghostnet_050", dict(size=32)),
    "ghostnetv2": ("ghostnetv2_100", dict(size=64)),
    "repvgg": ("repvgg_a0", dict(size=32)),
    "regnety": ("regnety_002", dict(size=32)),
    "regnetx": ("regnetx_002", dict(size=32)),
    "regnetz": ("regnetz_005", dict(size=32)),
    "nf_regnet": ("nf_regnet_b0", dict(size=32)),
    "mixnet": ("mixnet_s", dict(size=32)),
    "rexnet": ("rexnet_100", dict(size=32)),
    "res2net": ("res2net50_14w_8s", dict(size=32, layers=(1, 1, 1, 1))),
    "resnest": ("resnest14d", dict(size=32, layers=(1, 1, 1, 1))),
    "skresnet": ("skresnet18", dict(size=32, layers=(1, 1, 1, 1))),
    "hrnet": ("hrnet_w18_small", dict(size=64)),
    "dla": ("dla46_c", dict(size=64)),
    "coatnet": ("coatnet_nano_rw_224", dict(size=64, img_size=64)),
    "maxvit": ("maxvit_rmlp_pico_rw_256", dict(size=64, img_size=64)),
    "efficientformer": ("efficientformer_l1", dict(size=224)),
    "efficientvit_b0": ("efficientvit_b0", dict(size=64)),
    "efficientvit_m0": ("efficientvit_m0", dict(size=224)),
    "fastvit": ("fastvit_t8", dict(size=64)),
    "repvit": ("repvit_m0_9", dict(size=64)),
    "tiny_vit": ("tiny_vit_5m_224", dict(size=224)),
    "davit": ("davit_tiny", dict(size=64, depths=(1, 1, 1, 1), embed_dims=(16, 24, 32, 48), num_heads=(2, 2, 4, 4))),
    "gcvit": ("gcvit_xxtiny", dict(size=224)),
    "hiera": ("hiera_tiny_224", dict(size=224, stages=(1, 1, 1, 1), embed_dim=16)),
    "inception_next": ("inception_next_tiny", dict(size=64, depths=(1, 1, 1, 1), dims=(16, 24, 32, 48))),
    "mvitv2": ("mvitv2_tiny", dict(img_size=64)),
    "sequencer": ("sequencer2d_s", dict(size=56, img_size=56, layers=(1, 1, 1, 1), embed_dims=(16, 24, 32, 48), hidden_sizes=(4, 8, 8, 12))),
    "starnet": ("starnet_s050", dict(size=64)),
    "nextvit": ("nextvit_small", dict(size=64, depths=(1, 1, 5, 1))),
    "shvit": ("shvit_s1", dict(size=128)),
    "swiftformer": ("swiftformer_xs", dict(size=64)),
    "botnet": ("botnet26t_256", dict(size=64, img_size=64)),
    "lambda": ("lambda_resnet26t", dict(size=64)),
    "vitamin": ("vitamin_small_224", dict(size=64, img_size=64)),
    "vit_relpos": ("vit_relpos_small_patch16_224", dict(img_size=64, depth=2, embed_dim=32, num_heads=2)),
    "naflexvit": ("naflexvit_base_patch16_gap", dict()),
    "inception_v3": ("inception_v3", dict(size=96)),
    "xception": ("xception41", dict(size=64)),
    "cspdark": ("cspresnet50", dict(size=64)),
    "selecsls": ("selecsls42", dict(size=64)),
    "tresnet": ("tresnet_m", dict(size=64)),
}


def timm_model(name, size=64, **settings):
    import timm
    return timm.create_model(name, pretrained=False, num_classes=5, **settings), plain, image(size)


ZOO |= {f"timm-{name}": (lambda timm_name=timm_name, settings=settings: timm_model(timm_name, **settings)) for name, (timm_name, settings) in TIMM.items()}


def masked(batch, length):
    counts = torch.randint(3, length + 1, (batch, 1))
    return {"input_ids": torch.randint(3, WORDS - 2, (batch, length)), "attention_mask": (torch.arange(length)[None] < counts).long()}


def transformers_model(model, config, kind="ids", get=None, length=7, size=32, drop=(), **settings):
    """`kind`: the inputs. `get`: what of the result is the output. `drop`: settings that this configuration does not have."""
    import transformers
    common = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 64}
    made = getattr(transformers, config)(**{key: value for key, value in {**common, **settings}.items() if key not in drop})
    if hasattr(made, "use_cache"):
        made.use_cache = False
    module = getattr(transformers, model)(made)
    result = get or (lambda output: output.logits if getattr(output, "logits", None) is not None else output[0])
    calls = {
        "ids": (lambda m, input_ids: result(m(input_ids=input_ids)), lambda b: {"input_ids": torch.randint(3, WORDS - 2, (b, length))}),
        "mask": (lambda m, input_ids, attention_mask: result(m(input_ids=input_ids, attention_mask=attention_mask)), lambda b: masked(b, length)),
        "seq2seq": (lambda m, input_ids, decoder_input_ids: result(m(input_ids=input_ids, decoder_input_ids=decoder_input_ids, use_cache=False)),
                    lambda b: {"input_ids": torch.randint(3, WORDS - 2, (b, length)), "decoder_input_ids": torch.randint(3, WORDS - 2, (b, 5))}),
        "pixels": (lambda m, x: result(m(pixel_values=x)), image(size)),
        "video": (lambda m, x: result(m(pixel_values=x)), lambda b: {"x": torch.randn(b, 2, 3, size, size)}),
        "audio": (lambda m, x: result(m(x)), lambda b: {"x": torch.randn(b, length)}),
    }
    return module, *calls[kind]


def add_transformers(name, *arguments, **settings):
    ZOO[f"transformers-{name}"] = lambda: transformers_model(*arguments, **settings)


add_transformers("llama", "LlamaForCausalLM", "LlamaConfig", num_key_value_heads=2)
add_transformers("llama_mask", "LlamaForCausalLM", "LlamaConfig", kind="mask", num_key_value_heads=2)
add_transformers("qwen2", "Qwen2ForCausalLM", "Qwen2Config", num_key_value_heads=2)
add_transformers("qwen3", "Qwen3ForCausalLM", "Qwen3Config", num_key_value_heads=2, head_dim=8)
add_transformers("gemma2", "Gemma2ForCausalLM", "Gemma2Config", num_key_value_heads=2, head_dim=8, sliding_window=4)
add_transformers("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", num_key_value_heads=2, head_dim=8, sliding_window=4)
add_transformers("phi", "PhiForCausalLM", "PhiConfig")
add_transformers("phi3", "Phi3ForCausalLM", "Phi3Config", num_key_value_heads=2, pad_token_id=0)
add_transformers("mistral", "MistralForCausalLM", "MistralConfig", num_key_value_heads=2, sliding_window=4)
add_transformers("olmo2", "Olmo2ForCausalLM", "Olmo2Config", num_key_value_heads=2)
add_transformers("stablelm", "StableLmForCausalLM", "StableLmConfig", num_key_value_heads=2)
add_transformers("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", num_key_value_heads=2)
add_transformers("granite", "GraniteForCausalLM", "GraniteConfig", num_key_value_heads=2)
add_transformers("cohere", "CohereForCausalLM", "CohereConfig", num_key_value_heads=2)
add_transformers("glm", "GlmForCausalLM", "GlmConfig", num_key_value_heads=2, head_dim=8, pad_token_id=0)
add_transformers("smollm3", "SmolLM3ForCausalLM", "SmolLM3Config", num_key_value_heads=2, pad_token_id=0)
add_transformers("helium", "HeliumForCausalLM", "HeliumConfig", num_key_value_heads=2, head_dim=8)
add_transformers("persimmon", "PersimmonForCausalLM", "PersimmonConfig")
add_transformers("gptj", "GPTJForCausalLM", "GPTJConfig", n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=64)
add_transformers("codegen", "CodeGenForCausalLM", "CodeGenConfig", n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=64)
add_transformers("gptneox", "GPTNeoXForCausalLM", "GPTNeoXConfig")
add_transformers("gptneo", "GPTNeoForCausalLM", "GPTNeoConfig", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4)
add_transformers("gptbigcode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig", n_embd=32, n_layer=2, n_head=4, n_positions=64)
add_transformers("bloom", "BloomForCausalLM", "BloomConfig", n_layer=2, n_head=4)
add_transformers("falcon", "FalconForCausalLM", "FalconConfig")
add_transformers("mpt", "MptForCausalLM", "MptConfig", d_model=32, n_heads=4, n_layers=2, max_seq_len=64)
add_transformers("opt", "OPTForCausalLM", "OPTConfig", ffn_dim=48, word_embed_proj_dim=32)
add_transformers("xglm", "XGLMForCausalLM", "XGLMConfig", d_model=32, ffn_dim=48, num_layers=2, attention_heads=4)
add_transformers("biogpt", "BioGptForCausalLM", "BioGptConfig")
add_transformers("mamba", "MambaForCausalLM", "MambaConfig", state_size=4, expand=2, conv_kernel=3)
add_transformers("mamba2", "Mamba2ForCausalLM", "Mamba2Config", num_heads=8, head_dim=8, state_size=8, n_groups=1, chunk_size=4, expand=2)
add_transformers("rwkv", "RwkvForCausalLM", "RwkvConfig", context_length=64, attention_hidden_size=32)
add_transformers("lfm2", "Lfm2ForCausalLM", "Lfm2Config", num_key_value_heads=2, full_attn_idxs=[1])
add_transformers("recurrent_gemma", "RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", num_key_value_heads=1, lru_width=32, attention_window_size=4,
                 num_hidden_layers=3)
add_transformers("bert_mask", "BertForMaskedLM", "BertConfig", kind="mask")
add_transformers("bert_qa", "BertForQuestionAnswering", "BertConfig", kind="mask", get=lambda o: o.start_logits * o.end_logits)
add_transformers("roberta", "RobertaForSequenceClassification", "RobertaConfig", kind="mask", pad_token_id=1, num_labels=1)
add_transformers("distilbert", "DistilBertForTokenClassification", "DistilBertConfig", dim=32, n_layers=2, n_heads=4, hidden_dim=48)
add_transformers("albert", "AlbertForMaskedLM", "AlbertConfig", embedding_size=16, num_hidden_groups=1)
add_transformers("electra", "ElectraForPreTraining", "ElectraConfig", embedding_size=16)
add_transformers("deberta", "DebertaForSequenceClassification", "DebertaConfig", relative_attention=True, pos_att_type=["c2p", "p2c"],
                 max_relative_positions=16)
add_transformers("debertav2", "DebertaV2ForTokenClassification", "DebertaV2Config", relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8)
add_transformers("mpnet", "MPNetForMaskedLM", "MPNetConfig")
add_transformers("squeezebert", "SqueezeBertForMaskedLM", "SqueezeBertConfig", embedding_size=32)
add_transformers("mobilebert", "MobileBertForMaskedLM", "MobileBertConfig", embedding_size=16, intra_bottleneck_size=16, true_hidden_size=16)
add_transformers("convbert", "ConvBertForMaskedLM", "ConvBertConfig", embedding_size=32, conv_kernel_size=3)
add_transformers("nystrom", "NystromformerForMaskedLM", "NystromformerConfig", num_landmarks=4, segment_means_seq_len=8, length=8, conv_kernel_size=3)
add_transformers("canine", "CanineModel", "CanineConfig", length=32, local_transformer_stride=8, num_hash_buckets=128)
add_transformers("roformer", "RoFormerForMaskedLM", "RoFormerConfig")
add_transformers("rembert", "RemBertForMaskedLM", "RemBertConfig", input_embedding_size=16, output_embedding_size=24)
add_transformers("xlm", "XLMWithLMHeadModel", "XLMConfig", emb_dim=32, n_layers=2, n_heads=4)
add_transformers("funnel", "FunnelForMaskedLM", "FunnelConfig", d_model=32, n_head=4, d_head=8, d_inner=48, block_sizes=[1, 1])
add_transformers("bigbird", "BigBirdForMaskedLM", "BigBirdConfig", attention_type="original_full")
add_transformers("modernbert", "ModernBertForMaskedLM", "ModernBertConfig", pad_token_id=0, local_attention=4, global_attn_every_n_layers=2)
add_transformers("esm", "EsmForMaskedLM", "EsmConfig", position_embedding_type="rotary", pad_token_id=1, mask_token_id=2)
add_transformers("ibert", "IBertForMaskedLM", "IBertConfig")
add_transformers("xmod", "XmodForMaskedLM", "XmodConfig", languages=["en"], default_language="en")
add_transformers("bart", "BartForConditionalGeneration", "BartConfig", kind="seq2seq", d_model=32, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)
add_transformers("mbart", "MBartForConditionalGeneration", "MBartConfig", kind="seq2seq", d_model=32, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)
add_transformers("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", kind="seq2seq", d_model=32, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)
add_transformers("t5", "T5ForConditionalGeneration", "T5Config", kind="seq2seq", d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                 feed_forward_proj="gated-gelu")
add_transformers("prophetnet", "ProphetNetForConditionalGeneration", "ProphetNetConfig", kind="seq2seq", hidden_size=32, num_encoder_layers=2,
                 num_decoder_layers=2, num_encoder_attention_heads=4, num_decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
                 drop=("num_hidden_layers", "num_attention_heads"))
add_transformers("m2m", "M2M100ForConditionalGeneration", "M2M100Config", kind="seq2seq", d_model=32, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)
add_transformers("fsmt", "FSMTForConditionalGeneration", "FSMTConfig", kind="seq2seq", langs=["en", "de"], src_vocab_size=101, tgt_vocab_size=101,
                 d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)
add_transformers("vit", "ViTForImageClassification", "ViTConfig", kind="pixels", image_size=32, patch_size=8)
add_transformers("deit", "DeiTForImageClassification", "DeiTConfig", kind="pixels", image_size=32, patch_size=8)
add_transformers("beit", "BeitForImageClassification", "BeitConfig", kind="pixels", use_relative_position_bias=True, image_size=32, patch_size=8)
add_transformers("dinov2", "Dinov2ForImageClassification", "Dinov2Config", kind="pixels", image_size=32, patch_size=8)
add_transformers("vitmsn", "ViTMSNForImageClassification", "ViTMSNConfig", kind="pixels", image_size=32, patch_size=8)
add_transformers("yolos", "YolosForObjectDetection", "YolosConfig", kind="pixels", num_detection_tokens=5, get=lambda o: torch.cat([o.logits, o.pred_boxes],
                 -1), image_size=[32, 32], patch_size=8)
add_transformers("segformer", "SegformerForSemanticSegmentation", "SegformerConfig", kind="pixels", size=64, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1,
                 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16, drop=("hidden_size", "num_hidden_layers", "intermediate_size"))
add_transformers("mobilevit", "MobileViTForSemanticSegmentation", "MobileViTConfig", kind="pixels", size=64, image_size=64, hidden_sizes=[16, 24, 32],
                 neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 48], drop=("hidden_size",))
add_transformers("levit", "LevitForImageClassification", "LevitConfig", kind="pixels", size=64, image_size=64, hidden_sizes=[16, 24, 32],
                 num_attention_heads=[2, 2, 4], depths=[1, 1, 1], key_dim=[8, 8, 8])
add_transformers("dpt", "DPTForDepthEstimation", "DPTConfig", kind="pixels", num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8,
                 16, 16], fusion_hidden_size=8, get=lambda o: o.predicted_depth, image_size=32, patch_size=8)
add_transformers("glpn", "GLPNForDepthEstimation", "GLPNConfig", kind="pixels", size=64, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                 num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16, get=lambda o: o.predicted_depth, drop=("hidden_size", "num_hidden_layers",
                 "intermediate_size"))
AUDIO = {"kind": "audio", "length": 200, "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_feat_extract_layers": 2,
         "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.0, "mask_feature_prob": 0.0, "apply_spec_augment": False}
add_transformers("wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", **AUDIO)
add_transformers("hubert", "HubertForCTC", "HubertConfig", **AUDIO)
add_transformers("wavlm", "WavLMForCTC", "WavLMConfig", **AUDIO)
add_transformers("unispeech", "UniSpeechForCTC", "UniSpeechConfig", num_ctc_classes=50, **AUDIO)
add_transformers("sew", "SEWForCTC", "SEWConfig", squeeze_factor=2, **AUDIO)
add_transformers("wav2vec2_conformer", "Wav2Vec2ConformerForCTC", "Wav2Vec2ConformerConfig", position_embeddings_type="rotary", conv_depthwise_kernel_size=3,
                 layerdrop=0.0, **AUDIO)
add_transformers("timesformer", "TimesformerForVideoClassification", "TimesformerConfig", kind="video", size=16, image_size=16, patch_size=8, num_frames=2)
