-- How many leads each agent has brought.

CREATE TRIGGER leads_counted AFTER INSERT ON leads BEGIN
  INSERT INTO lead_counts (workspace_id, agent_id, count) VALUES (NEW.workspace_id, NEW.agent_id, 1)
    ON CONFLICT (workspace_id, agent_id) DO UPDATE SET count = count + 1;
END;
--> statement-breakpoint
CREATE TRIGGER leads_uncounted AFTER DELETE ON leads BEGIN
  UPDATE lead_counts SET count = count - 1 WHERE workspace_id = OLD.workspace_id AND agent_id = OLD.agent_id;
END;
--> statement-breakpoint
INSERT INTO lead_counts (workspace_id, agent_id, count) SELECT workspace_id, agent_id, count(*) FROM leads GROUP BY workspace_id, agent_id;
