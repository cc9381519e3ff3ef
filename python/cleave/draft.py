"""Where the exporters write: a folder beside the file that the user has named. What lies under that name stays until the export has succeeded."""
import os
import tempfile

from .export_failure import not_writable


class Draft:
    """A new folder, which ends with the `with` block.

    path  the file to write in it, with the name of the user's file: a model names the files of its data, which lie beside it."""

    def __init__(self, target):
        self._target = os.path.realpath(target)
        folder, name = os.path.split(self._target)
        try:
            self._folder = tempfile.TemporaryDirectory(prefix=".cleave-export-", dir=folder)
        except OSError as error:
            raise not_writable(target, error) from error
        self.path = os.path.join(self._folder.name, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def keep(self):
        """Puts the files in the place of the user's, the model last: it names the others."""
        folder = os.path.dirname(self._target)
        for name in sorted(os.listdir(self._folder.name), key=lambda name: name == os.path.basename(self.path)):
            os.replace(os.path.join(self._folder.name, name), os.path.join(folder, name))
