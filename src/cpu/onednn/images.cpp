// Describes, fills, reorders and reads images.
#include "onednn/images.hpp"

#include <cstring>

#include "isa.hpp"
#include "onednn/primitive_call.hpp"

namespace deepbench::cpu::onednn {
namespace {

constexpr const char* kBlocked = "blocked";
constexpr const char* kNhwc = "nhwc";
constexpr const char* kNchw = "nchw";

dnnl_format_tag_t tag_of(const std::string& layout) {
  if (layout == kNchw) return dnnl_nchw;
  if (layout == kNhwc) return dnnl_nhwc;
  return isa().avx512 ? dnnl_nChw16c : dnnl_nChw8c;
}

MemoryDesc described(const ImageSizes& sizes, deepbench_type type, const std::string& layout) {
  const Api& api = Api::instance();
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_tag_f(&made, int(sizes.size()), sizes.data(),
                                              data_type(type), tag_of(layout)),
            "describing images");
  return MemoryDesc(made);
}

}  // namespace

std::vector<std::string> image_layouts() { return {kBlocked, kNhwc, kNchw}; }

bool Images::is_plain() const {
  return Api::instance().memory_desc_equal_f(plain.get(), stored.get()) != 0;
}
uint64_t Images::stored_bytes() const {
  return Api::instance().memory_desc_get_size_f(stored.get());
}

Images images_of(const ImageSizes& sizes, deepbench_type type, const std::string& layout,
                 uint32_t stream) {
  Images made;
  made.type = type, made.stream = stream, made.elements = 1;
  for (const int64_t size : sizes) made.elements *= uint64_t(size);
  made.plain = described(sizes, type, kNchw);
  made.stored = described(sizes, type, layout);
  return made;
}

ImageOperands::ImageOperands(const std::vector<const Images*>& inputs, const Images& output,
                             const CopyPlan& copies, Inputs values, uint64_t seed)
    : output_images_(output),
      output_(output.stored_bytes(), copies.copies),
      ordered_(output.is_plain() ? 0 : output.plain_bytes()) {
  for (const Images* images : inputs) {
    Copies& made = inputs_.emplace_back(images->stored_bytes(), copies.copies);
    const Buffer plain(images->is_plain() ? 0 : images->plain_bytes());
    void* const filled = images->is_plain() ? made.at(0) : plain.data();
    fill(filled, images->type, images->elements, values, seed, images->stream);
    if (!images->is_plain())
      reorder(images->plain.get(), filled, images->stored.get(), made.at(0), 1);
    made.replicate();
  }
  poison_outputs();
}

uint64_t ImageOperands::needed_bytes(const std::vector<const Images*>& inputs, const Images& output,
                                     const CopyPlan& copies) {
  const auto with_plain = [&](const Images& images) {
    return saturating_add(Copies::needed_bytes(images.stored_bytes(), copies.copies),
                          images.is_plain() ? 0 : images.plain_bytes());
  };
  uint64_t bytes = saturating_add(copies.flush_bytes, with_plain(output));
  for (const Images* images : inputs) bytes = saturating_add(bytes, with_plain(*images));
  return bytes;
}

// Poisons the whole stored tensor, including the padding of blocks.
void ImageOperands::poison_outputs() {
  const uint64_t stored = output_.bytes() / uint64_t(size_of(output_images_.type));
  for (uint64_t copy = 0; copy < copies(); ++copy)
    cpu::poison(result(copy), output_images_.type, stored);
}

HostMemory::Array ImageOperands::output(uint64_t copy) const {
  const Images& images = output_images_;
  if (images.is_plain()) return {output_.at(copy), images.type, images.elements};
  reorder(images.stored.get(), result(copy), images.plain.get(), ordered_.data(), 1);
  return {ordered_.data(), images.type, images.elements};
}

}  // namespace deepbench::cpu::onednn
