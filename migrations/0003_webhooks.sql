CREATE TABLE `webhook_erasures` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `webhook_erasures_created` ON `webhook_erasures` (`created_at`);--> statement-breakpoint
CREATE INDEX `webhook_erasures_workspace` ON `webhook_erasures` (`workspace_id`);--> statement-breakpoint
ALTER TABLE `webhook_endpoints` ADD `rotation_id` text;--> statement-breakpoint
ALTER TABLE `webhook_endpoints` ADD `pending_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhook_endpoints` ADD `succeeded_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhook_endpoints` ADD `failed_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- The length of each list of deliveries is kept with their endpoint.
CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries BEGIN
  UPDATE webhook_endpoints
     SET pending_count = pending_count + (NEW.status = 'pending'), succeeded_count = succeeded_count + (NEW.status = 'succeeded'),
         failed_count = failed_count + (NEW.status = 'failed')
   WHERE id = NEW.webhook_id;
END;
--> statement-breakpoint
CREATE TRIGGER deliveries_recounted AFTER UPDATE OF status ON deliveries WHEN NEW.status <> OLD.status BEGIN
  UPDATE webhook_endpoints
     SET pending_count = pending_count + (NEW.status = 'pending') - (OLD.status = 'pending'),
         succeeded_count = succeeded_count + (NEW.status = 'succeeded') - (OLD.status = 'succeeded'),
         failed_count = failed_count + (NEW.status = 'failed') - (OLD.status = 'failed')
   WHERE id = NEW.webhook_id;
END;
--> statement-breakpoint
CREATE TRIGGER deliveries_uncounted AFTER DELETE ON deliveries BEGIN
  UPDATE webhook_endpoints
     SET pending_count = pending_count - (OLD.status = 'pending'), succeeded_count = succeeded_count - (OLD.status = 'succeeded'),
         failed_count = failed_count - (OLD.status = 'failed')
   WHERE id = OLD.webhook_id;
END;
--> statement-breakpoint
-- A payload stays under 64 KB: the longest text of its data is halved until it fits, and the data says so. Each round first
-- finds the text and then halves it; substr counts characters, so none is torn. The number of rounds is bounded in case what
-- is too long is no text (no record of ours is so): then the identifier alone is left.
CREATE TRIGGER events_cut AFTER INSERT ON events WHEN octet_length(NEW.payload) > 65535 BEGIN
  UPDATE events
     SET payload = coalesce((
       WITH RECURSIVE cut (body, longest, round) AS (
         SELECT json_set(NEW.payload, '$.data.truncated', json('true')), NULL, 0
         UNION ALL
         SELECT iif(longest IS NULL, body, json_replace(body, longest, substr(body ->> longest, 1, length(body ->> longest) / 2))),
                iif(longest IS NULL, (SELECT fullkey FROM json_tree(body, '$.data') WHERE type = 'text'
                  ORDER BY octet_length(json_quote(atom)) DESC LIMIT 1), NULL),
                round + 1
           FROM cut WHERE octet_length(body) > 65535 AND round < 400
       )
       SELECT body FROM cut WHERE octet_length(body) <= 65535 LIMIT 1
     ), json_set(NEW.payload, '$.data', json_object('id', NEW.payload ->> '$.data.id', 'truncated', json('true'))))
   WHERE id = NEW.id;
END;
