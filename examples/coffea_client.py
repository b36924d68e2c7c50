"""Finds the vertices of events with coffea's triton wrapper and a running `zfinder serve`.

    pip install coffea 'tritonclient[grpc,http]'
    zfinder serve --detector generic
    python examples/coffea_client.py
"""

import awkward as ak
import numpy as np
from coffea.ml_tools.triton_wrapper import triton_wrapper
from tritonclient.utils import np_to_triton_dtype


class VertexFinder(triton_wrapper):
    """Vertices of events from spacepoints with the fields x, y, z [mm] and layer.

    coffea's own call pads each tensor to a fixed number of rows. Events have different numbers of
    spacepoints, so this call sends the tensors as they are. Retries and the number of events of a
    request are those of coffea.
    """

    def prepare_awkward(self, points):
        offsets = np.append(0, np.cumsum(ak.to_numpy(ak.num(points))))
        columns = {name.upper(): ak.values_astype(ak.flatten(points[name]), np.float32) for name in ("x", "y", "z")}
        columns["LAYER"] = ak.values_astype(ak.flatten(points.layer), np.uint8)
        return [["COUNTS", "Z", "Z_ERROR"], columns | {"OFFSETS": ak.Array(offsets)}], {}

    def numpy_call(self, output_list, input_dict):
        offsets = input_dict["OFFSETS"]
        outputs = [self.pmod.InferRequestedOutput(name) for name in output_list]
        found = {name: [] for name in output_list}
        for first in range(0, max(len(offsets) - 1, 1), self.batch_size):
            part = offsets[first : first + self.batch_size + 1]
            inputs = []
            for name, column in input_dict.items():
                column = part - part[0] if name == "OFFSETS" else column[part[0] : part[-1]]
                inputs.append(self.pmod.InferInput(name, column.shape, np_to_triton_dtype(column.dtype)))
                inputs[-1].set_data_from_numpy(column)
            answer = self.run_infer(inputs, outputs)
            for name in output_list:
                found[name].append(answer.as_numpy(name))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def postprocess_awkward(self, found, *_):
        return ak.unflatten(ak.zip({"z": found["Z"], "z_error": found["Z_ERROR"]}), found["COUNTS"])


def main():
    rho, phi = np.array([50.5, 88.5, 122.5]), 0.1
    track = {"x": rho * np.cos(phi), "y": rho * np.sin(phi), "z": [37.75, 56.75, 73.75], "layer": [0, 1, 2]}
    points = ak.Array([[dict(zip(track, point)) for point in zip(*track.values())], []])
    find = VertexFinder("triton+grpc://127.0.0.1:8001/zfinder-auto-xyz/1", {"ssl": False})
    print(find(points).z.tolist())  # [[12.5], []], up to the rounding of x and y


if __name__ == "__main__":
    main()
