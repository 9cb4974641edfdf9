"""TekApp: a tomograph's projections become denoised images on their way through four components."""
