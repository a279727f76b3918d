ALTER TABLE `agents` ADD `appearance` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `contact_form` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `languages` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `hosted_page` text DEFAULT '{}' NOT NULL;