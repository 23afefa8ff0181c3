"""GaANClassifier: what scikit-learn's users expect, on graphs whose answer is known."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import gaancore
from gaancore.errors import DataError, SettingsError
from gaancore.graph import CSRGraph

N = 90
SIZES = {"key_dim": 4, "value_dim": 8, "gate_dim": 4}


def planted(seed=0):
    """Three groups whose members know each other, features that tell little by themselves."""
    rng = np.random.default_rng(seed)
    group = np.arange(N) % 3
    knows = (rng.random((N, N)) < np.where(group[:, None] == group, 0.3, 0.01)).astype(int)
    x = (group[:, None] == np.arange(3)) + 0.8 * rng.standard_normal((N, 3))
    return x, group, np.triu(knows, 1)


def classifier(**more):
    params = {
        "epochs": 60,
        "lr": 0.01,
        "num_heads": 2,
        "embed_dim": 8,
        "out_dim": 8,
        "settings": SIZES,
    }
    return gaancore.GaANClassifier(**(params | more))


def hidden(y, none=-1):
    """The labels of every third node of each group alone."""
    return np.where(np.arange(N) // 3 % 3 == 0, y, none)


@pytest.fixture(scope="module")
def fitted():
    x, y, graph = planted()
    return classifier().fit(x, hidden(y), graph)


def test_it_learns_groups_from_a_third_of_the_labels(fitted):
    _, y, _ = planted()
    unseen = hidden(y) == -1
    assert (fitted.predict()[unseen] == y[unseen]).mean() > 0.8


def test_what_it_tells_after_fit(fitted):
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.n_features_in_ == 3
    assert not fitted.multi_label_
    assert "6 of 30 labelled nodes held out to stop early by" in fitted.notes_
    assert fitted.record_["model"] == "gaan"
    assert fitted.log_[-1]["step"] > 0


def test_probabilities_add_up_and_agree_with_the_prediction(fitted):
    found = fitted.predict_proba()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    assert (fitted.classes_[found.argmax(axis=1)] == fitted.predict()).all()


def test_every_kind_of_graph_gives_the_same_bits(fitted):
    x, _, graph = planted()
    expected = fitted.predict_proba(x, graph)
    ends = np.array(graph.nonzero())
    csr = CSRGraph.from_edges(*ends, N, duplicates="keep")
    for same in (sparse.csr_matrix(graph), sparse.coo_array(graph), ends, csr):
        assert fitted.predict_proba(x, same).tolist() == expected.tolist()


def test_a_networkx_graph_gives_the_same_bits(fitted):
    nx = pytest.importorskip("networkx")
    x, _, graph = planted()
    expected = fitted.predict_proba(x, graph)
    assert fitted.predict_proba(x, nx.from_numpy_array(graph)).tolist() == expected.tolist()


def test_a_new_graph_is_predicted(fitted):
    x, y, graph = planted(seed=1)
    assert fitted.score(x, y, graph) > 0.7
    assert fitted.predict(x[:4], np.zeros((4, 4))).shape == (4,)


def test_score_is_the_share_of_labelled_nodes_that_are_right(fitted):
    _, y, _ = planted()
    right = (fitted.predict() == y).mean()
    assert fitted.score(None, y) == pytest.approx(right)
    half = np.where(np.arange(N) < 45, y, -1)
    assert fitted.score(None, half) == pytest.approx((fitted.predict() == y)[:45].mean())


def test_the_same_random_state_gives_the_same_bits_and_another_does_not(fitted):
    x, y, graph = planted()
    again = classifier().fit(x, hidden(y), graph)
    assert again.predict_proba().tolist() == fitted.predict_proba().tolist()
    other = classifier(random_state=1, epochs=2).fit(x, hidden(y), graph)
    assert other.predict_proba().tolist() != fitted.predict_proba().tolist()


@pytest.mark.parametrize("none", [None, np.nan])
def test_names_of_classes_come_back(none):
    x, y, graph = planted()
    names = np.array(["red", "green", "blue"], object)[y]
    model = classifier(epochs=2).fit(x, hidden(names, none), graph)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    assert set(model.predict()) <= {"blue", "green", "red"}


def test_several_labels_are_predicted_as_rows_of_0_and_1():
    x, y, graph = planted()
    rows = np.stack([y == 0, y != 1], axis=1).astype(int)
    model = classifier().fit(x, np.where(hidden(y)[:, None] == -1, -1, rows), graph)
    found = model.predict()
    assert found.shape == (N, 2)
    assert set(found.flat) == {0, 1}
    assert model.score(None, rows) == pytest.approx((found == rows).all(axis=1).mean())
    assert (found == rows).mean() > 0.8


def test_masks_say_who_is_learned_from():
    x, y, graph = planted()
    learn, hold = np.arange(N) < 60, np.arange(N) >= 75
    model = classifier(epochs=2).fit(x, y, graph, train_mask=learn, val_mask=hold)
    assert model.record_["data"]["nodes_per_split"] == [60, 15, 0]
    # what is in no mask is never looked at
    other = np.where(learn | hold, y, (y + 1) % 3)
    again = classifier(epochs=2).fit(x, other, graph, train_mask=learn, val_mask=hold)
    assert again.predict_proba().tolist() == model.predict_proba().tolist()


def test_a_run_dir_keeps_the_run(tmp_path):
    x, y, graph = planted()
    model = classifier(epochs=2, run_dir=tmp_path / "run").fit(x, y, graph)
    assert gaancore.open_run(tmp_path / "run").record == model.record_


def test_a_fitted_classifier_can_be_pickled(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict_proba().tolist() == fitted.predict_proba().tolist()


def test_parameters_are_read_and_set_by_name():
    model = classifier()
    assert gaancore.GaANClassifier(**model.get_params()).get_params() == model.get_params()
    assert model.set_params(epochs=7).epochs == 7
    with pytest.raises(SettingsError, match="set_params: cats: expected one of model"):
        model.set_params(cats=1)
    assert repr(gaancore.GaANClassifier(epochs=3)) == "GaANClassifier(epochs=3)"


def test_before_fit_it_says_so():
    with pytest.raises(AttributeError, match="not fitted yet"):
        classifier().predict()


def refused(y=None, more=None, **params):
    x, classes, graph = planted()
    return classifier(**params).fit(x, classes if y is None else y, graph, **(more or {}))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: refused(y=np.zeros(N)), r"^fit: y: expected two classes or more, got \[0.0\]"),
        (lambda: refused(y=np.arange(N) + 0.5), "^fit: y: expected classes"),
        (lambda: refused(y=np.arange(5)), "^fit: y: expected 90 rows, as X has, got 5"),
        (lambda: refused(y=np.where(np.arange(N) < 2, np.arange(N), -1)), "^fit: y: 2 labelled"),
        (lambda: refused(validation_fraction=1), "^validation_fraction: "),
        (lambda: refused(random_state="a"), "^random_state: "),
        (lambda: refused(settings={"cats": 1}), "^train: cats: no such setting"),
        (lambda: refused(more={"val_mask": [1, 2]}), "^fit: val_mask: expected True or False"),
    ],
)
def test_a_refusal_names_the_argument(call, message):
    with pytest.raises((DataError, SettingsError), match=message):
        call()


def test_features_without_their_graph_are_refused(fitted):
    with pytest.raises(SettingsError, match="predict: graph: X and graph come together"):
        fitted.predict(np.eye(3))


def test_scikit_learn_clones_it_and_knows_a_classifier(fitted):
    base = pytest.importorskip("sklearn.base")
    from sklearn.utils.validation import check_is_fitted

    model = base.clone(fitted)
    assert model.get_params() == fitted.get_params()
    assert base.is_classifier(model)
    check_is_fitted(fitted)
    with pytest.raises(gaancore.UserError):
        model.predict()


def test_cross_validation_hides_labels_and_keeps_the_graph():
    base = pytest.importorskip("sklearn.base")
    from sklearn.model_selection import StratifiedKFold

    x, y, graph = planted()
    scores = []
    for learn, test in StratifiedKFold(3).split(x, y):
        mask = np.zeros(N, bool)
        mask[learn] = True
        model = base.clone(classifier()).fit(x, y, graph, train_mask=mask)
        scores.append((model.predict() == y)[test].mean())
    assert np.mean(scores) > 0.85


def test_it_is_the_last_step_of_a_pipeline():
    pipeline = pytest.importorskip("sklearn.pipeline")
    from sklearn.preprocessing import StandardScaler

    x, y, graph = planted()
    steps = pipeline.make_pipeline(StandardScaler(), classifier(epochs=20))
    steps.fit(x * 100, y, gaanclassifier__graph=graph)
    assert steps.predict(x * 100, graph=graph).shape == (N,)


def test_columns_of_a_frame_name_the_features():
    pd = pytest.importorskip("pandas")
    x, y, graph = planted()
    model = classifier(epochs=2).fit(pd.DataFrame(x, columns=list("abc")), y, graph)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(DataError, match="features: 'b' stands where"):
        model.predict(pd.DataFrame(x, columns=list("bac")), graph)
    with pytest.warns(UserWarning, match="no names for features: they are joined by position"):
        model.predict(x, graph)
