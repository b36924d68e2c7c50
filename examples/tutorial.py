# ---
# jupyter:
#   jupytext:
#     formats: py:percent,ipynb
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # From arrays of spacepoints to an efficiency plot
#
# This notebook finds the primary vertices of simulated events and plots the efficiency against
# pile-up. It takes a minute on two cores and needs no GPU.
#
# `pip install 'pyzfinder[awkward,pandas]' hist mplhep`; `jupytext --to ipynb examples/tutorial.py`
# makes a notebook of this file.

# %%
import awkward as ak
import hist
import matplotlib.pyplot as plt
import mplhep
import numpy as np

import pyzfinder

mplhep.style.use("ATLAS")

# %% [markdown]
# ## Events
#
# The simulation makes whole events in the ACTS generic detector, with 0 to 80 pile-up collisions.
# `to_awkward` is only there to show that the input is an ordinary awkward array: a record for each
# event, with lists of coordinates [mm] and of layers. Arrays from uproot or coffea work alike.

# %%
parts = [
    pyzfinder.simulate(
        rois=100, seed=seed, detector="generic", full_scan=True, pile_up=pile_up, pile_up_spread=0.3
    )
    for seed, pile_up in enumerate([5, 20, 40, 60])
]
events = ak.concatenate([part.spacepoints.to_awkward() for part in parts])
events = events[["rho", "phi", "z", "layer"]]
truth = pyzfinder.Truth.concatenate(part.truth for part in parts)
events.type.show()

# %% [markdown]
# ## Vertices
#
# The preset `auto` looks for the vertex of the hardest tracks.

# %%
finder = pyzfinder.Finder("auto", detector="generic")
results = finder.find(events)
print(finder, results, sep="\n")

# %% [markdown]
# Results are flat numpy columns with offsets. `to_awkward` gives a record for each event with the
# list of its vertices, the first of which is the best candidate.

# %%
found = results.to_awkward()
residual_mm = results.first_z_mm - truth.hard_scatter_z_mm
is_right = np.abs(residual_mm) < 1.0
print(f"first vertex within 1 mm: {is_right.mean():.1%}")
print("vertices of event 0 [mm]:", found.vertices.z_mm[0])

# %% [markdown]
# ## What the search sees
#
# Pairs of spacepoints meet the beam line at some z. They pile up at a vertex.

# %%
histogram = hist.Hist(finder.histogram(events[:1]))
figure, axes = plt.subplots(figsize=(9, 5))
histogram.plot1d(ax=axes)
axes.axvline(truth.hard_scatter_z_mm[0], color="tab:red", linestyle="--", label="true hard scatter")
axes.set_xlabel("z [mm]")
axes.set_ylabel("weight / bin")
axes.legend()

# %% [markdown]
# ## Efficiency against pile-up
#
# `evaluate` compares results with truth, bin by bin. Its intervals are of 68.3 %.

# %%
figures = pyzfinder.evaluate(results, truth, by="pile-up", bins=5)
figures[["low", "high", "rois", "efficiency_first", "efficiency_any", "residual_rms_mm"]]

# %%
edges = np.append(figures["low"], figures["high"].iloc[-1] + 1)
figure, axes = plt.subplots(figsize=(9, 6))
for name, label in (("efficiency_first", "first vertex"), ("efficiency_any", "any vertex")):
    efficiency = figures[name].to_numpy()
    errors = [efficiency - figures[f"{name}_low"], figures[f"{name}_high"] - efficiency]
    mplhep.histplot(
        efficiency, edges, yerr=errors, histtype="errorbar", xerr=True, ax=axes, label=label
    )
axes.set_xlabel("true vertices of the event")
axes.set_ylabel("efficiency (within 1 mm)")
axes.set_ylim(0, 1.1)
axes.legend()
figure.savefig("efficiency.svg")
