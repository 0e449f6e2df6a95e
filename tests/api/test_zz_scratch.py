from tests.api.test_end_to_end import *
from sqlalchemy import text
def test_scratch(database_url, redis_url, scripted, sessions):
    with (pipeline(database_url, redis_url, scripted) as running, api_server(running.environment) as url, Client(url) as client):
        client.add_documents([{"id": "rivers", "title": "Rivers", "text": TEXT}])
        job = client.submit([{"custom_id": s, "question": COMPOUND, "strategy": s} for s in ("direct","hyde","recursive","self_irag")], config={"recursive": {"leaf": "hyde", "max_depth": 2}})
        wait_for_end(client, job["id"])
        for l in client.results(job["id"]): print(l["custom_id"], l["outcome"], l["error"], l["answer"])
        for i in range(6):
            job = client.submit([{"custom_id": "lost", "question": "How far is Oslo?", "strategy": "direct"}])
            wait_for_end(client, job["id"])
            client.retry_job(job["id"])
            until = time.monotonic() + 15
            while client.job(job["id"])["status"] != "ended" and time.monotonic() < until: time.sleep(.2)
            j = client.job(job["id"])
            print(i, j["status"], j["counts"])
            if j["status"] != "ended":
                with sessions.begin() as s: print(s.execute(text("select ended_at, cancel_requested from batches where id=:i"), {"i": job["id"]}).all())
                print(running.reconciler.is_alive, running.reconciler.said()[-1500:])
                print(running.workers["batch"][0].said()[-1500:])
                break
        assert 0
