"""Links from the HTML representation of estimators to their pages of the documentation."""


class DocumentationLink:
    """Mixin for estimators with a page in the API reference; first among the base classes."""

    _doc_link_module = "rectifold"
    _doc_link_template = (
        "https://rectifold.github.io/rectifold/docs/api/generated/{module}.{name}.html"
    )

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Return what the template needs: the public module of the class, and its name."""
        private = type(self).__module__
        module = "rectifold.dask" if private.startswith("rectifold.dask") else "rectifold"
        return {"module": module, "name": type(self).__name__}
